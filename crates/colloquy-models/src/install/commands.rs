//! Runs the programs of the system that an installation needs, and keeps what they said last.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{InstallError, Progress, Unit};

const LAST_LINES: usize = 15;
const LINE_BYTES_MAX: u64 = 16 << 10;

/// A program that is missing, and the Debian package that brings it.
pub(super) type Needed = (&'static str, &'static str);

/// Fails, naming the packages, when a program is not on the PATH.
pub(super) fn require(needed: &[Needed]) -> Result<(), InstallError> {
    let missing: Vec<Needed> = needed.iter().copied().filter(|(program, _)| !is_on_path(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (programs, mut packages): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    packages.dedup();
    Err(InstallError::Missing { programs, packages })
}

#[expect(clippy::disallowed_methods, reason = "the PATH is no setting of ours")]
fn is_on_path(program: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| folder.join(program).is_file())
}

/// A run that ended badly.
pub(super) struct Failure {
    pub(super) how: String,
    pub(super) last_lines: String,
}

impl Failure {
    pub(super) fn of(self, what: impl Into<String>) -> InstallError {
        InstallError::Failed { what: what.into(), how: self.how, last_lines: self.last_lines }
    }
}

/// Runs a program to its end and shows each line of its output to `on_line`.
pub(super) fn run(mut command: Command, mut on_line: impl FnMut(&str)) -> Result<(), Failure> {
    let failure =
        |how: String, lines: VecDeque<String>| Failure { how, last_lines: Vec::from(lines).join("\n") };
    // One pipe for both streams keeps their order and needs no second reader.
    let started = std::io::pipe().and_then(|(reader, writer)| {
        let child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn()?;
        Ok((reader, child))
    });
    // The command keeps its ends of the pipe open, and the reader would never see the end.
    drop(command);
    let (reader, mut child) = started.map_err(|error| failure(error.to_string(), VecDeque::new()))?;
    let mut lines = VecDeque::new();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while matches!((&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line), Ok(n) if n > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        on_line(&text);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
        line.clear();
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failure(status.to_string(), lines)),
        Err(error) => Err(failure(error.to_string(), lines)),
    }
}

/// A package of PyPI, by the file that it arrives as.
pub(super) struct Package {
    /// Its name, with a version where one is wanted.
    pub(super) requirement: String,
    /// How the file begins and ends.
    pub(super) file_prefix: &'static str,
    pub(super) file_suffix: &'static str,
    /// What `pip download` is told besides.
    pub(super) options: &'static [&'static str],
}

/// The package's file in `downloads`, fetched with pip unless it is there.
pub(super) fn download(
    package: &Package,
    downloads: &Path,
    progress: &mut dyn Progress,
) -> Result<PathBuf, InstallError> {
    if let Some(present) = newest(downloads, package) {
        return Ok(present);
    }
    require(&[("python3", "python3"), ("pip3", "python3-pip")])?;
    // pip moves the finished file into place, but not always in one go.
    let fetching = downloads.join("fetching");
    let _ = fs::remove_dir_all(&fetching);
    fs::create_dir_all(&fetching).map_err(InstallError::file(&fetching))?;
    progress.begin(&format!("downloading {}", package.requirement), Unit::Unknown, None);
    let mut pip = Command::new("pip3");
    pip.args(["download", "--no-deps", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]);
    pip.args(package.options).arg("--dest").arg(&fetching).arg(&package.requirement);
    let fetched = run(pip, |_| ());
    progress.end();
    let failed = |last_lines| InstallError::Download { package: package.requirement.clone(), last_lines };
    fetched.map_err(|failure| failed(failure.last_lines))?;
    let file = newest(&fetching, package).ok_or_else(|| failed("pip fetched another file".into()))?;
    let target = downloads.join(file.file_name().unwrap_or_default());
    fs::rename(&file, &target).map_err(InstallError::file(&target))?;
    let _ = fs::remove_dir_all(&fetching);
    Ok(target)
}

fn newest(folder: &Path, package: &Package) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = names
        .filter(|name| name.starts_with(package.file_prefix) && name.ends_with(package.file_suffix))
        .max()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests;
