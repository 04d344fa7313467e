//! A result that cannot be written is never taken for a whole one.

use std::process::Stdio;

use colloquy_testkit::scripted_server::{Frame, Reply, ScriptedServer};

use super::place::Place;

#[tokio::test]
async fn every_command_fails_when_its_result_cannot_be_written() {
    let script = [Frame::Role, Frame::Text("Words".into()), Frame::Hang];
    let server = ScriptedServer::start([Reply::answer("Kept."), Reply::stream(script)]).await.unwrap();
    let place = Place::with_model(&server).await;
    place.run(&["chat", "One?"]).await.succeeds();
    let lines: [&[&str]; 15] = [
        &["--version"],
        &["chat", "--help"],
        &["models", "list"],
        &["models", "list", "--json"],
        &["models", "default", "scripted"],
        &["conversations", "list"],
        &["conversations", "list", "--json"],
        &["conversations", "show", "1"],
        &["conversations", "show", "1", "--json"],
        &["conversations", "export", "1"],
        &["doctor"],
        &["doctor", "--json"],
        &["serve", "--port", "0"],
        &["chat", "Two?"],
        &["conversations", "delete", "1", "--yes"],
    ];
    for line in lines {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let child = place.command(line).stdout(Stdio::from(full)).spawn().unwrap();
        let ended = child.wait_with_output().await.unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{line:?}: {stderr}");
        assert!(stderr.contains("failed to write to stdout"), "{line:?}: {stderr}");
    }
    server.closed_early(1).await;
}
