use serde_json::json;

use super::*;
use crate::files::SourceFile;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), text: text.into() }
}

/// What the rules for single files say of one file.
fn source(path: &str, text: &str) -> Vec<String> {
    sources::check(&[file(path, text)])
}

#[test]
fn this_repository_is_tidy_in_what_can_be_seen_of_its_arrows() {
    assert_eq!(arrows::check(&files::metadata().unwrap()), [""; 0]);
}

#[test]
fn an_arrow_that_is_not_listed_is_refused() {
    let package = |name: &str, target: &str, kind: Option<&str>| json!({"name": name, "dependencies": [{"name": target, "kind": kind}]});
    let check = |kind, name: &str, target: &str| {
        let packages = [package(name, target, kind), package(target, "serde", None)];
        arrows::check(&json!({ "packages": packages }))
    };
    assert_eq!(check(None, "colloquy", "colloquy-core"), [""; 0]);
    assert_eq!(check(None, "colloquy", "colloquy-models"), ["colloquy: may not depend on colloquy-models"]);
    assert_eq!(check(None, "colloquy-server", "colloquy-testkit").len(), 1);
    assert_eq!(check(Some("dev"), "colloquy-server", "colloquy-testkit"), [""; 0]);
    assert_eq!(check(Some("dev"), "colloquy-core", "colloquy-testkit").len(), 1);
    assert_eq!(check(Some("dev"), "colloquy", "colloquy-server").len(), 1);
    assert!(check(None, "colloquy-utils", "colloquy-core")[0].contains("a new crate"));
}

#[test]
fn a_file_is_listed_over_500_lines_and_refused_over_800() {
    let of_lines = |n: usize| file("xtask/src/x.rs", &format!("//! x\n{}", "\n".repeat(n - 1)));
    assert_eq!(sources::long_files(&[of_lines(500)]), [""; 0]);
    assert_eq!(sources::long_files(&[of_lines(501)]), ["xtask/src/x.rs: 501 lines, over 500"]);
    assert_eq!(sources::check(&[of_lines(800)]), [""; 0]);
    assert_eq!(sources::check(&[of_lines(801)]).len(), 1);
}

#[test]
fn a_module_without_documentation_is_refused_and_a_test_is_not() {
    assert_eq!(source("crates/x/src/y.rs", "fn y() {}").len(), 1);
    assert_eq!(source("crates/x/src/y/tests.rs", "fn y() {}"), [""; 0]);
    assert_eq!(source("crates/x/tests/it/main.rs", "fn y() {}"), [""; 0]);
}

#[test]
fn a_marker_needs_its_issue() {
    let line = |rest: &str| source("x.rs", &format!("// {}{rest}", concat!("FIX", "ME")));
    assert_eq!(line("(#12): later"), [""; 0]);
    for rest in [": later", "(12)", "(#): later"] {
        assert_eq!(line(rest).len(), 1, "{rest}");
    }
}

#[test]
fn a_lint_is_expected_and_never_allowed() {
    assert_eq!(source("x.rs", concat!("#[", "allow(dead_code)]")).len(), 1);
    assert_eq!(source("x.rs", "#[expect(dead_code, reason = \"r\")]"), [""; 0]);
}

#[test]
fn a_path_of_one_machine_is_refused_in_any_file() {
    assert_eq!(source("README.md", concat!("see /work", "/main/x")).len(), 1);
    assert_eq!(source("README.md", "see /work/shop"), [""; 0]);
}

#[test]
fn a_crate_from_elsewhere_is_refused() {
    let lock = |source_line: &str| source("Cargo.lock", source_line);
    assert_eq!(lock("source = \"registry+https://github.com/rust-lang/crates.io-index\""), [""; 0]);
    assert_eq!(lock("source = \"git+https://example.invalid/x\"").len(), 1);
}

#[test]
fn a_link_leads_to_a_file_a_folder_or_a_heading() {
    let check = |link: &str| {
        let files = [
            file("docs/a.md", &format!("# One, two\n[x]({link})\n```\n[y](nowhere)\n```")),
            file("docs/b.md", "## Known quirks"),
            file("README.md", ""),
        ];
        documents::check(&files).len()
    };
    for good in
        ["b.md", "../README.md", "../docs", "https://example.invalid", "#one-two", "b.md#known-quirks"]
    {
        assert_eq!(check(good), 0, "{good}");
    }
    for bad in ["c.md", "../b.md", "#two", "b.md#quirks", "../../README.md"] {
        assert_eq!(check(bad), 1, "{bad}");
    }
}

#[test]
fn the_core_repeats_the_bans_of_the_root() {
    let check = |core: &str| {
        let root = "unwrap = true\nmethods = [\"a::b\", { path = \"c::d\", reason = \"r\" }]";
        clippy_bans::check(&[file("clippy.toml", root), file("crates/colloquy-core/clippy.toml", core)])
            .unwrap()
    };
    assert_eq!(check("unwrap = true\nmethods = [{ path = \"a::b\" }, \"c::d\", \"e::f\"]"), [""; 0]);
    assert_eq!(check("unwrap = true\nmethods = [\"a::b\"]").len(), 1);
    assert_eq!(check("methods = [\"a::b\", \"c::d\"]").len(), 1);
    assert_eq!(check("").len(), 3);
}
