//! The file that an export goes to.
//!
//! A regular file is written beside and moved in place, so that a failure leaves no half of an
//! export behind and takes no older one away. What is no file, such as a device, a pipe or
//! `/dev/stdout`, cannot be replaced and is written to as it is.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

/// Longest chain of links that is followed, as in the kernel.
const N_LINKS_MAX: usize = 40;

/// An export that is being written. Dropped before [`finish`](Self::finish), it leaves no file.
pub(super) struct Outfile {
    file: File,
    replaces: Option<Replaced>,
}

struct Replaced {
    beside: PathBuf,
    target: PathBuf,
}

impl Outfile {
    /// Opens what `path` names; links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let target = followed(path)?;
        let older = match std::fs::metadata(&target) {
            Ok(metadata) if metadata.is_file() && !is_open_file(&target) => {
                // Moving a file over it would not ask whether it may be written.
                OpenOptions::new().write(true).open(&target)?;
                Some(metadata.permissions())
            }
            Ok(_) => {
                let file = OpenOptions::new().append(true).open(&target)?;
                return Ok(Self { file, replaces: None });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let folder = folder_of(&target);
        let beside = folder.join(format!(".colloquy-export-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        let outfile = Self { file, replaces: Some(Replaced { beside, target }) };
        if let Some(permissions) = older {
            outfile.file.set_permissions(permissions)?;
        }
        Ok(outfile)
    }

    /// Writes a piece.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Makes the whole of it appear.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(Replaced { beside, target }) = &self.replaces {
            self.file.sync_all()?;
            std::fs::rename(beside, target)?;
            self.replaces = None;
        }
        Ok(())
    }
}

impl Drop for Outfile {
    fn drop(&mut self) {
        if let Some(Replaced { beside, .. }) = &self.replaces {
            // It holds nothing that is not in the store.
            let _ = std::fs::remove_file(beside);
        }
    }
}

/// Where links lead, also to a file that is not there yet. Names of open files stay names: where
/// they seem to lead may be another file by now, or none.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..N_LINKS_MAX {
        if is_open_file(&path) {
            return Ok(path);
        }
        match std::fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            // It is no link, or nothing yet; what else is wrong with it shows when it is opened.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

/// Whether the path is a name of something that a process has open, such as `/proc/self/fd/1`,
/// which is what `/dev/stdout` leads to.
fn is_open_file(path: &Path) -> bool {
    std::fs::canonicalize(folder_of(path)).is_ok_and(|folder| folder.starts_with("/proc"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn export(path: &Path) -> io::Result<()> {
        let mut out = Outfile::open(path)?;
        out.write(b"whole")?;
        out.finish()
    }

    #[test]
    fn a_link_stays_one_and_its_target_is_written_whether_it_is_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("target"));
        symlink("target", &link).unwrap();
        for _ in 0..2 {
            export(&link).unwrap();
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        }
        let ring = folder.path().join("ring");
        symlink("ring", &ring).unwrap();
        assert!(export(&ring).is_err());
    }

    #[test]
    fn an_unfinished_export_leaves_the_older_file_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        std::fs::write(&file, "older").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let mut out = Outfile::open(&file).unwrap();
        out.write(b"half").unwrap();
        drop(out);
        assert_eq!(std::fs::read(&file).unwrap(), b"older");
        export(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"whole");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
