//! A file that is put aside when it is full, of which the newest few are kept.
//!
//! A line is never split between two files. A failed rotation is not a reason to lose lines: the
//! old file is written to until one succeeds.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::fmt::MakeWriter;

const BYTES_MAX: u64 = 10 * 1024 * 1024;
const N_KEPT: u32 = 5;

/// The current file and its limit.
pub(super) struct RotatingFile {
    open: Mutex<Open>,
}

impl RotatingFile {
    /// Goes on with the file at `path`, or starts it.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        Self::with_limit(path, BYTES_MAX)
    }

    fn with_limit(path: PathBuf, bytes_max: u64) -> io::Result<Self> {
        let file = append_to(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { open: Mutex::new(Open { path, file, bytes, bytes_max }) })
    }
}

impl<'a> MakeWriter<'a> for RotatingFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        // A panic between two writes leaves at worst a cut line; logging goes on.
        Line(self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The right to write one line.
pub(super) struct Line<'a>(MutexGuard<'a, Open>);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.append(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Open {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl Open {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let n_bytes = line.len() as u64;
        if self.bytes > 0
            && self.bytes + n_bytes > self.bytes_max
            && let Ok(file) = rotate(&self.path)
        {
            self.file = file;
            self.bytes = 0;
        }
        self.file.write_all(line)?;
        self.bytes += n_bytes;
        Ok(())
    }
}

/// Moves each file one place on, the oldest one out, and starts a new one.
fn rotate(path: &Path) -> io::Result<File> {
    for n in (1..N_KEPT).rev() {
        let older = aside(path, n);
        if older.exists() {
            std::fs::rename(older, aside(path, n + 1))?;
        }
    }
    std::fs::rename(path, aside(path, 1))?;
    append_to(path)
}

fn aside(path: &Path, n: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{n}"));
    name.into()
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &RotatingFile, line: &str) {
        log.make_writer().write_all(line.as_bytes()).expect("a written line");
    }

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_full_file_is_put_aside_and_no_line_is_split() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("colloquy.log");
        let log = RotatingFile::with_limit(path.clone(), 10).expect("a log");
        write(&log, "123456789\n");
        assert_eq!(text(&path), "123456789\n", "exactly full is not over");
        write(&log, "a\n");
        assert_eq!(text(&path), "a\n");
        assert_eq!(text(&aside(&path, 1)), "123456789\n");
    }

    #[test]
    fn five_old_files_are_kept() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("colloquy.log");
        let log = RotatingFile::with_limit(path.clone(), 1).expect("a log");
        for n in 0..8 {
            write(&log, &format!("{n}\n"));
        }
        let kept: Vec<_> = (1..=6).map(|n| text(&aside(&path, n))).collect();
        assert_eq!(text(&path), "7\n");
        assert_eq!(kept, ["6\n", "5\n", "4\n", "3\n", "2\n", ""]);
    }

    #[test]
    fn a_new_process_goes_on_where_the_old_one_ended() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("colloquy.log");
        write(&RotatingFile::with_limit(path.clone(), 6).expect("a log"), "old\n");
        let log = RotatingFile::with_limit(path.clone(), 6).expect("the same log");
        write(&log, "1\n");
        assert_eq!(text(&path), "old\n1\n");
        write(&log, "2\n");
        assert_eq!(text(&path), "2\n");
    }
}
