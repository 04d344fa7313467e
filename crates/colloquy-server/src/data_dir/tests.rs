use std::os::unix::fs::PermissionsExt;

use super::*;

fn folder() -> (tempfile::TempDir, DataDir) {
    let parent = tempfile::tempdir().expect("a temporary folder");
    let data_dir = DataDir::at(&parent.path().join("deep/colloquy"));
    data_dir.create().expect("a data folder");
    (parent, data_dir)
}

fn note() -> ServerNote {
    ServerNote { pid: std::process::id(), url: "http://127.0.0.1:27182".into(), version: "0.1.0".into() }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("the file").permissions().mode() & 0o777
}

#[test]
fn the_folder_is_for_its_owner_only_and_may_be_created_twice() {
    let (_parent, data_dir) = folder();
    data_dir.create().expect("again");
    assert_eq!(mode(data_dir.root()), 0o700);
    assert_eq!(mode(&data_dir.logs()), 0o700);
}

#[test]
fn the_second_to_lock_is_refused_and_told_the_first() {
    let (_parent, data_dir) = folder();
    let lock = data_dir.lock().expect("a free folder");
    let refusal = data_dir.lock().expect_err("a held folder").to_string();
    assert_eq!(refusal, format!("the data folder is in use by process {}", std::process::id()));

    let published = data_dir.publish(&lock, &note()).expect("a note");
    let refusal = data_dir.lock().expect_err("a held folder").to_string();
    assert!(
        refusal.ends_with(&format!("process {} at http://127.0.0.1:27182", std::process::id())),
        "{refusal}"
    );

    drop(published);
    drop(lock);
    data_dir.lock().expect("a folder that is free again");
}

#[test]
fn a_stale_note_of_another_process_does_not_name_the_holder() {
    let (_parent, data_dir) = folder();
    let lock = data_dir.lock().expect("a free folder");
    let _published = data_dir.publish(&lock, &ServerNote { pid: 1, ..note() }).expect("a note");
    let refusal = data_dir.lock().expect_err("a held folder").to_string();
    assert_eq!(refusal, format!("the data folder is in use by process {}", std::process::id()));
}

#[test]
fn a_shorter_pid_leaves_nothing_of_a_longer_one() {
    let (_parent, data_dir) = folder();
    std::fs::write(data_dir.lock_file(), "4294967295000").expect("an old lock file");
    let _lock = data_dir.lock().expect("a free folder");
    let written = std::fs::read_to_string(data_dir.lock_file()).expect("the lock file");
    assert_eq!(written, std::process::id().to_string());
}

#[test]
fn the_note_is_private_readable_and_gone_with_its_server() {
    let (_parent, data_dir) = folder();
    assert_eq!(data_dir.server(), None);
    let lock = data_dir.lock().expect("a free folder");
    let published = data_dir.publish(&lock, &note()).expect("a note");
    assert_eq!(data_dir.server(), Some(note()));
    assert_eq!(mode(&data_dir.root().join("server.json")), 0o600);
    drop(published);
    assert_eq!(data_dir.server(), None);
}

#[test]
fn a_damaged_note_is_no_note() {
    let (_parent, data_dir) = folder();
    std::fs::write(data_dir.root().join("server.json"), "{\"pid\":").expect("a cut note");
    assert_eq!(data_dir.server(), None);
}
