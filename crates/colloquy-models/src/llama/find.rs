//! Where the engine's binary is.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

const BINARY: &str = "llama-server";

/// No engine is installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// The path that was given names no file.
    #[error("there is no llama-server at {0}; correct --llama-server or leave it out")]
    Named(PathBuf),
    /// No path was given, and neither the PATH nor the data folder has one.
    #[error("llama-server is neither on the PATH nor at {0}; run `colloquy setup` to install it")]
    Nowhere(PathBuf),
}

/// Where `setup` puts the engine in a data folder.
pub fn installed_path(data_dir: &Path) -> PathBuf {
    data_dir.join("engine").join(BINARY)
}

/// The engine: the path that was named, else one on the PATH, else the one in the data folder.
#[expect(clippy::disallowed_methods, reason = "the PATH is no setting of ours")]
pub fn find(named: Option<&Path>, data_dir: &Path) -> Result<PathBuf, NotFound> {
    find_in(named, env::var_os("PATH").as_deref(), data_dir)
}

fn find_in(named: Option<&Path>, search: Option<&OsStr>, data_dir: &Path) -> Result<PathBuf, NotFound> {
    if let Some(named) = named {
        return if named.is_file() { Ok(named.to_owned()) } else { Err(NotFound::Named(named.to_owned())) };
    }
    let on_path = search.into_iter().flat_map(env::split_paths).map(|folder| folder.join(BINARY));
    let installed = installed_path(data_dir);
    on_path
        // A relative entry of the PATH means another file in every folder.
        .filter(|candidate| candidate.is_absolute())
        .chain([installed.clone()])
        .find(|candidate| candidate.is_file())
        .ok_or(NotFound::Nowhere(installed))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_named_engine_wins_and_the_path_comes_before_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, data) = (folder.path().join("bin"), folder.path().join("data"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(data.join("engine")).unwrap();
        let named = folder.path().join("mine");
        for file in [&named, &bin.join(BINARY), &installed_path(&data)] {
            fs::write(file, "").unwrap();
        }

        let search = Some(bin.as_os_str());
        assert_eq!(find_in(Some(&named), search, &data), Ok(named));
        assert_eq!(find_in(None, search, &data), Ok(bin.join(BINARY)));
        assert_eq!(find_in(None, None, &data), Ok(installed_path(&data)));
    }

    #[test]
    fn a_missing_engine_names_the_way_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("gone");
        let error = find_in(Some(&named), None, folder.path()).unwrap_err();
        assert!(error.to_string().contains("--llama-server"), "{error}");
        let error = find_in(None, Some(OsStr::new("relative:.")), folder.path()).unwrap_err();
        assert!(error.to_string().contains("colloquy setup"), "{error}");
    }
}
