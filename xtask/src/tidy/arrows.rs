//! Which crate may depend on which (design § 2). An arrow that is not listed is refused, and so is
//! a crate that nobody has thought about.

use serde_json::Value;

/// What each crate may be built on. The testkit is for tests only, so nothing lists it.
const ARROWS: [(&str, &[&str]); 10] = [
    ("colloquy-core", &[]),
    ("colloquy-derive", &[]),
    ("colloquy", &["colloquy-core", "colloquy-derive"]),
    ("colloquy-models", &["colloquy", "colloquy-core"]),
    ("colloquy-store-sqlite", &["colloquy", "colloquy-core"]),
    ("colloquy-store-postgres", &["colloquy", "colloquy-core"]),
    (
        "colloquy-server",
        &["colloquy", "colloquy-core", "colloquy-models", "colloquy-store-sqlite", "colloquy-store-postgres"],
    ),
    ("colloquy-testkit", &["colloquy", "colloquy-core"]),
    ("colloquy-examples", &["colloquy", "colloquy-models", "colloquy-store-sqlite"]),
    ("xtask", &["colloquy-core", "colloquy-models"]),
];

/// Checks the arrows in the output of `cargo metadata --no-deps`.
pub(super) fn check(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|(crate_name, _)| *crate_name == name) else {
            findings
                .push(format!("{name}: a new crate; say in xtask/src/tidy/arrows.rs what it may depend on"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            if names.contains(&target) && !is_allowed(name, allowed, target, &dependency["kind"]) {
                findings.push(format!("{name}: may not depend on {target}"));
            }
        }
    }
    findings
}

fn is_allowed(name: &str, allowed: &[&str], target: &str, kind: &Value) -> bool {
    let is_for_tests = kind == "dev";
    // The core is tested by itself; the server, which is built on all others, by nobody below it.
    allowed.contains(&target) || (is_for_tests && name != "colloquy-core" && target != "colloquy-server")
}
