use super::*;
use crate::files;

/// A folder with one vector file of that name and content.
fn folder(name: &str, content: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), content).unwrap();
    dir
}

#[test]
fn the_vectors_beside_each_crate_pass() {
    let mut n_passed = 0;
    for entry in fs::read_dir(files::root().join("crates")).unwrap() {
        let dir = entry.unwrap().path().join("tests/vectors");
        if dir.is_dir() {
            let tally = tally(&dir).unwrap();
            assert_eq!((tally.n_failed, &tally.remarks), (0, &vec![]), "{}", tally.remarks.join("\n"));
            n_passed += tally.n_passed;
        }
    }
    assert!(n_passed > 100, "only {n_passed} cases were found");
}

#[test]
fn a_case_that_fails_is_told_with_what_was_expected_and_what_came() {
    let dir =
        folder("prompt_tiers.json", r#"{"cases":[{"name":"n","param_size_billions":1,"tier":"huge"}]}"#);
    let tally = tally(dir.path()).unwrap();
    assert_eq!((tally.n_passed, tally.n_failed), (0, 1));
    assert!(tally.remarks[0].starts_with("FAILED prompt_tiers/n\n  expected {"), "{}", tally.remarks[0]);
    assert!(tally.remarks[0].contains("huge") && tally.remarks[0].contains("tiny"));
}

#[test]
fn a_file_without_a_function_is_named_and_fails_nothing() {
    let dir = folder("phase_of_the_moon.json", "{}");
    assert_eq!(
        tally(dir.path()).unwrap(),
        Tally { n_passed: 0, n_failed: 0, remarks: vec!["no function yet: phase_of_the_moon".into()] }
    );
}

#[test]
fn a_damaged_file_is_a_failure_and_not_the_end() {
    for content in ["not JSON", "{}", r#"{"cases":[{"chunks":1}]}"#] {
        let dir = folder("think_splitter.json", content);
        assert_eq!(tally(dir.path()).unwrap().n_failed, 1, "{content}");
    }
}

#[test]
fn a_folder_without_vectors_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(tally(dir.path()).unwrap_err().to_string().contains("holds no *.json file"));
}
