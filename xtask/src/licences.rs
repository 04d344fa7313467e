//! Licences, bans and sources of all dependencies, checked by `cargo-deny`.
//!
//! The check always runs: where cargo-deny is missing it is built once, into the test cache. Only
//! a person's machine that cannot get it goes on without, and says so; CI does not.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{
    assets,
    chores::{cargo, has_cargo, step},
};

/// The version that CI builds, so that a commit is judged tomorrow as it is today.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Runs the check. Advisories are not part of it: their database comes over git, which a build
/// machine may not reach.
pub(crate) fn check() -> Result<()> {
    match cargo_deny() {
        Ok(mut deny) => step("licences", deny.args(["--locked", "check", "bans", "licenses", "sources"])),
        Err(error) if is_ci() => Err(error),
        Err(error) => {
            eprintln!("WARNING: licences, bans and sources were NOT checked: {error:#}");
            Ok(())
        }
    }
}

/// cargo-deny: the user's own, else the one in the cache, which is put there if need be.
fn cargo_deny() -> Result<Command> {
    if has_cargo("deny") {
        return Ok(cargo(["deny"]));
    }
    let tools = assets::cache_dir()?.join("tools");
    let program = installed_in(&tools);
    if !program.is_file() {
        install(&tools).with_context(|| {
            format!("{CARGO_DENY} could not be installed; run `cargo install --locked {CARGO_DENY}`")
        })?;
    }
    Ok(Command::new(program))
}

fn installed_in(tools: &Path) -> PathBuf {
    tools.join("bin").join(format!("cargo-deny{}", env::consts::EXE_SUFFIX))
}

/// Builds cargo-deny. Quick to build matters more than quick to run: it runs for a second. What
/// the build leaves is removed, also after a failure.
fn install(tools: &Path) -> Result<()> {
    println!("cargo-deny is missing; building it once into {} (takes some minutes)", tools.display());
    let build = tools.join("build");
    let done = step(
        "cargo-deny",
        cargo(["install", "--locked", CARGO_DENY, "--root"])
            .arg(tools)
            .arg("--target-dir")
            .arg(&build)
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    );
    // It may not be there: cargo may have failed before it built anything.
    let _ = fs::remove_dir_all(build);
    done
}

#[expect(clippy::disallowed_methods, reason = "what CI systems say of themselves is no setting of ours")]
fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}
