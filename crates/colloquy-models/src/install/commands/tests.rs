use super::*;

/// Counts what it is told.
#[derive(Default)]
struct Steps(usize);

impl Progress for Steps {
    fn begin(&mut self, _: &str, _: Unit, _: Option<u64>) {
        self.0 += 1;
    }

    fn advance(&mut self, _: u64, _: Option<u64>) {}

    fn end(&mut self) {}
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn both_streams_are_read_in_order_and_a_failure_tells_the_last_lines() {
    let mut lines = Vec::new();
    run(shell("echo one; echo two >&2; echo three"), |line| lines.push(line.to_owned())).ok().unwrap();
    assert_eq!(lines, ["one", "two", "three"]);

    let failure = run(shell("seq 100; exit 3"), |_| ()).err().unwrap();
    assert_eq!(failure.how, "exit status: 3");
    assert_eq!(failure.last_lines.lines().count(), LAST_LINES);
    assert!(failure.last_lines.starts_with("86\n"), "{}", failure.last_lines);
}

#[test]
fn missing_programs_are_named_with_the_line_that_installs_them() {
    require(&[("sh", "dash")]).unwrap();
    let error =
        require(&[("sh", "dash"), ("no-such-compiler", "g++"), ("no-such-linker", "g++")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no-such-compiler, no-such-linker missing; install with: apt-get install -y g++"
    );
}

#[test]
fn an_archive_that_is_there_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["thing-1.tar.gz", "thing-2.tar.gz", "thing-3.whl", "other-9.tar.gz"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let package =
        Package { requirement: "thing".into(), file_prefix: "thing-", file_suffix: ".tar.gz", options: &[] };
    let mut steps = Steps::default();
    let file = download(&package, folder.path(), &mut steps).unwrap();
    assert_eq!(file, folder.path().join("thing-2.tar.gz"));
    assert_eq!(steps.0, 0);
}
