//! Puts a finished file in its place: whole or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::InstallError;

/// The name under which a file is made before it is renamed into place.
pub(super) fn partial(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    target.with_file_name(name)
}

/// Creates the folder that `target` lies in.
pub(super) fn make_room(target: &Path) -> Result<(), InstallError> {
    let Some(folder) = target.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(InstallError::file(folder))
}

/// Copies `source` to `target`, with its permissions.
pub(super) fn copy(source: &Path, target: &Path) -> Result<(), InstallError> {
    make_room(target)?;
    let partial = partial(target);
    fs::copy(source, &partial).map_err(InstallError::file(&partial))?;
    fs::rename(&partial, target).map_err(InstallError::file(target))
}

/// Links `source` to `target`, or copies it where the two lie on different disks.
pub(super) fn link_or_copy(source: &Path, target: &Path) -> Result<(), InstallError> {
    make_room(target)?;
    let partial = partial(target);
    // What an interrupted run left would make the link fail.
    let _ = fs::remove_file(&partial);
    if fs::hard_link(source, &partial).is_err() {
        return copy(source, target);
    }
    fs::rename(&partial, target).map_err(InstallError::file(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_arrives_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::write(&source, "all of it").unwrap();
        let target = folder.path().join("a/b/target");
        make_room(&target).unwrap();
        fs::write(partial(&target), "a part").unwrap();
        for place in [copy, link_or_copy] {
            place(&source, &target).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "all of it");
            assert!(!partial(&target).exists());
        }
    }
}
