//! `chat`: the answer alone on stdout, and Ctrl-C stops the answer.

use std::process::Stdio;

use colloquy_testkit::{
    gate::Gate,
    scripted_server::{Frame, Reply, ScriptedServer},
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::place::{Place, signal};

#[tokio::test]
async fn one_question_gives_the_answer_alone_with_and_without_a_server() {
    let server =
        ScriptedServer::start([Reply::answer("Paris, of course."), Reply::answer("Bern.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    let ran = place.run(&["chat", "The capital of France?"]).await.succeeds();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Paris, of course.\n", ""));

    let _served = place.serve().await;
    let ran = place.run(&["chat", "The capital of Switzerland?"]).await.succeeds();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Bern.\n", ""));
}

#[tokio::test]
async fn a_stdin_that_is_no_terminal_is_the_question() {
    let server = ScriptedServer::start([Reply::answer("Short.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    let ran = place.run_with_stdin(&["chat"], "Review this:\n+ naïve line\n").await.succeeds();
    assert_eq!(ran.stdout, "Short.\n");
    let asked = last_question(&server);
    assert_eq!(asked, "Review this:\n+ naïve line\n");
    place.run_with_stdin(&["chat"], " \n").await.fails(2, &["empty"]);
}

fn request(server: &ScriptedServer, n: usize) -> Value {
    serde_json::from_slice(&server.bodies()[n]).unwrap()
}

fn last_question(server: &ScriptedServer) -> String {
    let last = request(server, server.bodies().len() - 1);
    let messages = last["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_conversation_is_gone_on_with() {
    let server = ScriptedServer::start([Reply::answer("Noted."), Reply::answer("Heron.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    place.run(&["chat", "--system", "Answer in one word.", "The code word is heron."]).await.succeeds();
    let ran = place.run(&["chat", "--conversation", "1", "What is the code word?"]).await.succeeds();
    assert_eq!(ran.stdout, "Heron.\n");
    let messages = request(&server, 1)["messages"].to_string();
    for words in ["Answer in one word.", "The code word is heron.", "Noted.", "What is the code word?"] {
        assert!(messages.contains(words), "{words} is not in {messages}");
    }
    place.run(&["chat", "--conversation", "99", "Hello?"]).await.fails(1, &["99"]);
}

#[tokio::test]
async fn a_model_is_chosen_by_name_and_an_unknown_one_refused() {
    let server = ScriptedServer::start([]).await.unwrap();
    let other = ScriptedServer::start([Reply::answer("Other.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    let url = other.base_url();
    let line = ["models", "add", "--base-url", &url, "--model", "m", "--window", "4096", "--name", "other"];
    place.run(&line).await.succeeds();
    assert_eq!(place.run(&["chat", "--model", "other", "Who?"]).await.succeeds().stdout, "Other.\n");
    place.run(&["chat", "--model", "third", "Who?"]).await.fails(1, &["third", "scripted", "other"]);
}

#[tokio::test]
async fn without_a_model_it_says_what_to_do() {
    let ran =
        Place::new().run(&["chat", "Hello?"]).await.fails(1, &["colloquy setup", "colloquy models add"]);
    assert_eq!(ran.stdout, "");
}

#[tokio::test]
async fn a_failed_answer_is_told_on_stderr_and_in_the_exit_code() {
    let refusal = serde_json::json!({ "error": { "message": "no such model here", "code": 404 } });
    let server = ScriptedServer::start([Reply::json(404, &refusal)]).await.unwrap();
    let place = Place::with_model(&server).await;
    let ran = place.run(&["chat", "Hello?"]).await.fails(1, &["error: "]);
    assert_eq!(ran.stdout, "");
    assert!(!ran.stderr.contains("[ERROR_MESSAGE_SYSTEM]"), "{ran:?}");
}

#[tokio::test]
async fn ctrl_c_stops_the_answer_and_what_was_read_is_kept() {
    for with_server in [false, true] {
        let script = [Frame::Role, Frame::Text("The first words".into()), Frame::Hang];
        let server = ScriptedServer::start([Reply::stream(script)]).await.unwrap();
        let place = Place::with_model(&server).await;
        let _served = if with_server { Some(place.serve().await) } else { None };

        let mut asking = place.command(&["chat", "Tell me everything."]).spawn().unwrap();
        let mut stdout = asking.stdout.take().unwrap();
        let mut read = vec![0; "The first words".len()];
        stdout.read_exact(&mut read).await.unwrap();
        signal(asking.id().unwrap(), "INT").await;
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "\n");
        assert_eq!(asking.wait().await.unwrap().code(), Some(130));
        server.closed_early(1).await;

        let shown = place.run(&["conversations", "show", "1"]).await.succeeds();
        assert!(shown.stdout.contains("The first words"), "{shown:?}");
    }
}

#[tokio::test]
async fn ctrl_c_works_before_there_is_an_answer_too() {
    let silent = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let place = Place::new();
    place.write("server.json", serde_json::json!({ "pid": 1, "url": url, "version": "0" }).to_string());
    let mut asking = place.command(&["chat", "Hello?"]).spawn().unwrap();
    // It greets the server of the folder, which says nothing.
    let _greeted = silent.accept().await.unwrap();
    signal(asking.id().unwrap(), "INT").await;
    assert_eq!(asking.wait().await.unwrap().code(), Some(130));
}

/// `script` gives the command a terminal, as a person has one.
#[tokio::test]
async fn at_a_terminal_ctrl_c_stops_an_answer_and_ctrl_d_leaves() {
    let script = [Frame::Role, Frame::Text("An endless story".into()), Frame::Hang];
    let server = ScriptedServer::start([Reply::stream(script), Reply::answer("Still here.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    let binary = env!("CARGO_BIN_EXE_colloquy");
    // Without `exec` the shell in between would take Ctrl-C too, and report that instead of our end.
    let line = format!("exec {binary} chat");
    let mut command = place.other("script", &["-q", "-e", "-c", &line, "/dev/null"]);
    let mut child = command.env("TERM", "xterm").stdin(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut screen = Screen { pipe: child.stdout.take().unwrap(), text: String::new() };

    screen.shows("Ctrl-D leaves").await;
    screen.shows("> ").await;
    keys.write_all(b"Tell me a story.\r").await.unwrap();
    screen.shows("An endless story").await;
    keys.write_all(b"\x03").await.unwrap();
    screen.shows("(stopped)").await;
    screen.shows("> ").await;
    keys.write_all(b"Are you still here?\r").await.unwrap();
    screen.shows("Still here.").await;
    screen.shows("> ").await;
    keys.write_all(b"\x04").await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(0));

    let history = place.data_dir().join("chat_history");
    assert_eq!(super::place::mode(&history), 0o600);
    assert!(std::fs::read_to_string(history).unwrap().contains("Are you still here?"));
}

struct Screen {
    pipe: tokio::process::ChildStdout,
    text: String,
}

impl Screen {
    /// Waits until the terminal has shown `words`, and forgets everything up to them.
    async fn shows(&mut self, words: &str) {
        let mut chunk = [0; 1024];
        while !self.text.contains(words) {
            let reading =
                tokio::time::timeout(std::time::Duration::from_secs(30), self.pipe.read(&mut chunk));
            let n_bytes =
                reading.await.unwrap_or_else(|_| panic!("no {words:?} in {:?}", self.text)).unwrap();
            assert!(n_bytes > 0, "the terminal closed before {words:?}: {:?}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&chunk[..n_bytes]));
        }
        let end = self.text.find(words).unwrap() + words.len();
        self.text.drain(..end);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_any_more_is_stopped() {
    for with_server in [false, true] {
        let gate = Gate::new();
        let script = [
            Frame::Role,
            Frame::Text("The first words".into()),
            Frame::Pause(gate.clone()),
            Frame::Text(" and more".into()),
            Frame::Hang,
        ];
        let server = ScriptedServer::start([Reply::stream(script)]).await.unwrap();
        let place = Place::with_model(&server).await;
        let _served = if with_server { Some(place.serve().await) } else { None };
        let mut asking = place.command(&["chat", "Tell me everything."]).spawn().unwrap();
        let mut stdout = asking.stdout.take().unwrap();
        stdout.read_exact(&mut vec![0; "The first words".len()]).await.unwrap();
        drop(stdout);
        gate.open();
        let ended = asking.wait_with_output().await.unwrap();
        assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(1), &b""[..]));
        server.closed_early(1).await;
    }
}

#[tokio::test]
async fn at_a_terminal_an_answer_cannot_steer_it() {
    let answer = "red \u{1b}[31m\u{9b}2J \u{202e}end";
    let server = ScriptedServer::start([Reply::answer(answer), Reply::answer(answer)]).await.unwrap();
    let place = Place::with_model(&server).await;
    let piped = place.run(&["chat", "Colours?"]).await.succeeds().stdout;
    assert_eq!(piped, format!("{answer}\n"));
    let line = format!("exec {} chat Colours?", env!("CARGO_BIN_EXE_colloquy"));
    let shown = place.other("script", &["-q", "-e", "-c", &line, "/dev/null"]).output().await.unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(r"red \u{1b}[31m\u{9b}2J \u{202e}end"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[31m"), "{shown:?}");
}
