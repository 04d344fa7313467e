//! The chores that run other programs: each step is announced, and the first one that fails ends
//! the chore with the command that failed.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::{assets, files, licences, tidy};

/// Formatting, lints, documentation, the rules of `tidy`, licences; then everything is built once
/// and tested with the real engine. The tests come last, so that their summary does too.
pub(crate) fn ci() -> Result<()> {
    step("formatting", &mut cargo(["fmt", "--all", "--check"]))?;
    println!("==> tidy");
    tidy::run()?;
    step(
        "lints",
        &mut cargo(["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    )?;
    step(
        "documentation",
        cargo(["doc", "--locked", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    licences::check()?;
    println!("==> engine and model");
    let cache_dir = assets::install()?;
    step(
        "Python clients",
        Command::new("bash").arg("scripts/python-env.sh").env("COLLOQUY_CACHE_DIR", &cache_dir),
    )?;
    step("tests in the documentation", &mut cargo(["test", "--locked", "--workspace", "--doc", "--quiet"]))?;
    step("tests", tests("default").env("COLLOQUY_CACHE_DIR", cache_dir))
}

/// The benchmark tables, on an optimised build.
pub(crate) fn bench() -> Result<()> {
    step("preparing", &mut cargo(["bench", "--locked", "--package", "colloquy-core", "--bench", "prepare"]))?;
    step("decoding", &mut cargo(["bench", "--locked", "--package", "colloquy-models", "--bench", "decode"]))?;
    step("caching", &mut cargo(["bench", "--locked", "--package", "colloquy-models", "--bench", "caching"]))?;
    step("figures", &mut cargo(["bench", "--locked", "--package", "colloquy-server", "--bench", "figures"]))
}

/// The tests with that many cases per property.
pub(crate) fn soak(cases: u32) -> Result<()> {
    step("properties", tests("soak").env("PROPTEST_CASES", cases.to_string()))
}

/// All tests; with nextest and that profile of it where it is installed.
fn tests(profile: &str) -> Command {
    if has_cargo("nextest") {
        cargo(["nextest", "run", "--locked", "--workspace", "--profile", profile])
    } else {
        cargo(["test", "--locked", "--workspace", "--lib", "--bins", "--tests"])
    }
}

/// A cargo command with these arguments.
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    command
}

/// Whether cargo knows that subcommand, by itself or as an installed program.
pub(crate) fn has_cargo(subcommand: &str) -> bool {
    cargo([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Announces a step and runs it in the root of the repository.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    println!("==> {name}");
    let status = command
        .current_dir(files::root())
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{} could not be started", command.get_program().display()))?;
    ensure!(status.success(), "{name} failed ({status}): {}", shown(command));
    Ok(())
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
