//! The proof of the scripted server: the official Python clients read what it sends, in every
//! wire, and what they made of it is compared piece by piece.
//!
//! The clients live in an environment in the cache folder, which `scripts/python-env.sh` makes.
//! Its absence is a failure that names the command, not a skipped test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{env, fs, path::PathBuf, process::Stdio};

use colloquy_testkit::scripted_server::{Frame, Reply, ScriptedServer, WireUsage};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command};

const REQUIREMENTS: &str = include_str!("clients/requirements.txt");
const USAGE: WireUsage =
    WireUsage { prompt_tokens: 30, cached_tokens: 20, written_tokens: 4, completion_tokens: 9 };

/// What every wire is asked to say: signed reasoning, reasoning withheld, text, and two calls
/// whose inputs are cut within a string and within an escape.
fn everything() -> Vec<Frame> {
    vec![
        Frame::Role,
        Frame::Reasoning("A clock".into()),
        Frame::Reasoning(" helps.".into()),
        Frame::Signature("cHJvb2Y=".into()),
        Frame::Redacted("c2VjcmV0".into()),
        Frame::Text("Naïve ".into()),
        Frame::Text("日本語.".into()),
        Frame::call(0, "c1", "clock"),
        Frame::input(0, r#"{"zo"#),
        Frame::input(0, r#"ne":"U\u00"#),
        Frame::input(0, r#"e9"}"#),
        Frame::call(1, "c2", "now"),
        Frame::Finish("tool_calls", USAGE),
    ]
}

/// The same with the pieces of the two calls in turns, as chat completions and the Responses API
/// allow and clients of Anthropic read too.
fn interleaved() -> Vec<Frame> {
    let mut frames: Vec<Frame> = everything().drain(..7).collect();
    frames.extend([
        Frame::call(0, "c1", "clock"),
        Frame::input(0, r#"{"zone":"#),
        Frame::call(1, "c2", "clock"),
        Frame::input(1, r#"{"zone""#),
        Frame::input(0, r#""U\u00e9"}"#),
        Frame::input(1, r#":null}"#),
        Frame::Finish("tool_calls", USAGE),
    ]);
    frames
}

/// A server for the four requests that each client makes: a stream, a document, a refusal, and a
/// stream that fails half-way.
async fn server(stream: Reply) -> ScriptedServer {
    let half = Reply::stream([Frame::Role, Frame::Text("half".into()), Frame::error(503, "overloaded")]);
    let replies = [stream, Reply::stream(everything()), Reply::error(429, "slow down"), half];
    ScriptedServer::start(replies).await.unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a test finds the cache folder by itself")]
fn python() -> PathBuf {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = folder("COLLOQUY_CACHE_DIR")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("colloquy")))
        .or_else(|| Some(folder("HOME")?.join(".cache/colloquy")))
        .expect("HOME is set");
    let environment = cache.join("python-clients");
    let installed = fs::read_to_string(environment.join("requirements.txt")).unwrap_or_default();
    let hint = "run `scripts/python-env.sh`";
    assert!(installed == REQUIREMENTS, "the Python clients are missing or outdated; {hint}");
    environment.join("bin/python")
}

/// What `script` prints, as JSON.
async fn run(script: &str, argument: &str, input: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut child = Command::new(python())
        .arg(folder.join(script))
        .arg(argument)
        // The server is on this machine, whatever proxy the machine has.
        .env("NO_PROXY", "*")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} failed:\n{complaints}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn openai_reads_a_chat_completion() {
    let server = server(Reply::stream(interleaved())).await;
    let seen = run("openai_chat.py", &server.origin(), "").await;
    assert_eq!(
        seen["stream"],
        json!({
            "pieces": [
                ["reasoning", "A clock"], ["reasoning", " helps."],
                ["text", "Naïve "], ["text", "日本語."],
                ["call", 0, ""], ["call", 0, r#"{"zone":"#],
                ["call", 1, ""], ["call", 1, r#"{"zone""#],
                ["call", 0, r#""U\u00e9"}"#], ["call", 1, ":null}"],
            ],
            "calls": [
                {"id": "c1", "name": "clock", "input": r#"{"zone":"U\u00e9"}"#},
                {"id": "c2", "name": "clock", "input": r#"{"zone":null}"#},
            ],
            "finish_reason": "tool_calls",
            "usage": [30, 20, 9],
        })
    );
    assert_eq!(
        seen["whole"],
        json!({
            "text": "Naïve 日本語.",
            "calls": [["c1", "clock", r#"{"zone":"U\u00e9"}"#], ["c2", "now", ""]],
            "finish_reason": "tool_calls",
        })
    );
    assert_eq!(seen["refused"], json!(["RateLimitError", 429, "rate_limit_exceeded", "slow down"]));
    assert_eq!(seen["broken"], json!(["APIError", "server_error", "overloaded"]));
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn openai_reads_a_response() {
    let cut = Reply::stream([
        Frame::call(0, "c1", "clock"),
        Frame::input(0, r#"{"zo"#),
        Frame::Finish("length", USAGE),
    ]);
    let half = Reply::stream([Frame::Text("half".into()), Frame::error(503, "overloaded")]);
    let replies = [
        Reply::stream(interleaved()),
        cut,
        Reply::stream(everything()),
        Reply::error(429, "slow down"),
        half,
    ];
    let server = ScriptedServer::start(replies).await.unwrap();
    let seen = run("openai_responses.py", &server.origin(), "").await;
    let output = json!([
        ["reasoning", "A clock helps.", "cHJvb2Y="],
        ["reasoning", "", "c2VjcmV0"],
        ["text", "Naïve 日本語."],
        ["function_call", "c1", "clock", r#"{"zone":"U\u00e9"}"#],
        ["function_call", "c2", "clock", r#"{"zone":null}"#],
    ]);
    assert_eq!(
        seen["stream"],
        json!({
            "pieces": [
                ["reasoning_summary_text", 0, "A clock"], ["reasoning_summary_text", 0, " helps."],
                ["output_text", 2, "Naïve "], ["output_text", 2, "日本語."],
                ["function_call_arguments", 3, r#"{"zone":"#],
                ["function_call_arguments", 4, r#"{"zone""#],
                ["function_call_arguments", 3, r#""U\u00e9"}"#],
                ["function_call_arguments", 4, ":null}"],
            ],
            "is_in_order": true,
            "final": {"status": "completed", "incomplete": null, "output": output, "usage": [30, 20, 9]},
        })
    );
    let half_a_call = json!([["function_call", "c1", "clock", r#"{"zo"#]]);
    assert_eq!(seen["cut"][0], "response.incomplete");
    assert_eq!(seen["cut"][1]["incomplete"], "max_output_tokens");
    assert_eq!(seen["cut"][1]["output"], half_a_call);
    assert_eq!(seen["whole"]["output"][4], json!(["function_call", "c2", "now", ""]));
    assert_eq!(seen["refused"], json!(["RateLimitError", 429, "rate_limit_exceeded", "slow down"]));
    assert_eq!(seen["broken"], json!(["response.failed", "server_error", "overloaded"]));
}

#[tokio::test]
async fn anthropic_reads_a_message() {
    let server = server(Reply::stream(everything())).await;
    let seen = run("anthropic_messages.py", &server.origin(), "").await;
    let message = json!({
        "content": [
            ["thinking", "A clock helps.", "cHJvb2Y="],
            ["redacted_thinking", "c2VjcmV0"],
            ["text", "Naïve 日本語."],
            ["tool_use", "c1", "clock", {"zone": "Ué"}],
            ["tool_use", "c2", "now", {}],
        ],
        "stop_reason": "tool_use",
        "usage": [6, 4, 20, 9],
    });
    assert_eq!(
        seen["stream"],
        json!({
            "pieces": [
                ["thinking", "A clock"], ["thinking", " helps."], ["signature", "cHJvb2Y="],
                ["stop", 0, "thinking"], ["stop", 1, "redacted_thinking"],
                ["text", "Naïve "], ["text", "日本語."], ["stop", 2, "text"],
                ["input", ""], ["input", r#"{"zo"#], ["input", r#"ne":"U\u00"#], ["input", r#"e9"}"#],
                ["stop", 3, "tool_use"], ["input", ""], ["stop", 4, "tool_use"],
            ],
            "final": message,
        })
    );
    assert_eq!(seen["whole"], message);
    assert_eq!(seen["refused"], json!(["RateLimitError", 429, "slow down"]));
    assert_eq!(seen["broken"], json!(["overloaded_error", "overloaded"]));
    // Not what the dialect sends (`2023-06-01` and `x-api-key`): this client asks for a later version,
    // whose events it declares as the same. Whoever raises the pin sees here what it asks for.
    let request = &server.requests()[0];
    assert_eq!(request.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(request.header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn boto3_reads_a_converse_stream_and_its_signed_request_is_recorded() {
    // In pieces that split the frames, so that their lengths and checksums are what joins them.
    let server = server(Reply::stream(everything()).in_pieces_of(7)).await;
    let seen = run("bedrock_converse.py", &server.origin(), "").await;
    let delta =
        |at: usize, delta: Value| json!({"contentBlockDelta": {"delta": delta, "contentBlockIndex": at}});
    let stop = |at: usize| json!({"contentBlockStop": {"contentBlockIndex": at}});
    let call = |at: usize, id: &str, name: &str| {
        let start = json!({"toolUse": {"toolUseId": id, "name": name}});
        json!({"contentBlockStart": {"start": start, "contentBlockIndex": at}})
    };
    let usage = json!({
        "inputTokens": 6, "outputTokens": 9, "totalTokens": 39,
        "cacheReadInputTokens": 20, "cacheWriteInputTokens": 4,
    });
    let secret = "736563726574";
    let streamed = [
        json!({"messageStart": {"role": "assistant"}}),
        delta(0, json!({"reasoningContent": {"text": "A clock"}})),
        delta(0, json!({"reasoningContent": {"text": " helps."}})),
        delta(0, json!({"reasoningContent": {"signature": "cHJvb2Y="}})),
        stop(0),
        delta(1, json!({"reasoningContent": {"redactedContent": secret}})),
        stop(1),
        delta(2, json!({"text": "Naïve "})),
        delta(2, json!({"text": "日本語."})),
        stop(2),
        call(3, "c1", "clock"),
        delta(3, json!({"toolUse": {"input": r#"{"zo"#}})),
        delta(3, json!({"toolUse": {"input": r#"ne":"U\u00"#}})),
        delta(3, json!({"toolUse": {"input": r#"e9"}"#}})),
        stop(3),
        call(4, "c2", "now"),
        stop(4),
        json!({"messageStop": {"stopReason": "tool_use"}}),
        json!({"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}),
    ];
    assert_eq!(seen["stream"], json!(streamed));
    let content = json!([
        {"reasoningContent": {"reasoningText": {"text": "A clock helps.", "signature": "cHJvb2Y="}}},
        {"reasoningContent": {"redactedContent": secret}},
        {"text": "Naïve 日本語."},
        {"toolUse": {"toolUseId": "c1", "name": "clock", "input": {"zone": "Ué"}}},
        {"toolUse": {"toolUseId": "c2", "name": "now", "input": {}}},
    ]);
    assert_eq!(
        seen["whole"],
        json!({
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": "tool_use",
            "usage": usage,
        })
    );
    let throttled = json!({"Message": "slow down", "Code": "ThrottlingException"});
    assert_eq!(seen["refused"], json!(["ThrottlingException", throttled]));
    let broken = json!({"Code": "serviceUnavailableException", "Message": "overloaded"});
    assert_eq!(seen["broken"]["error"], broken);
    assert_eq!(seen["broken"]["before"][1], delta(0, json!({"text": "half"})));

    let request = &server.requests()[0];
    assert_eq!(request.path, "/model/anthropic.claude-v1%3A0/converse-stream");
    let authorization = request.header("authorization").unwrap();
    assert!(authorization.contains("/eu-west-1/bedrock/aws4_request, SignedHeaders="), "{authorization}");
}

/// The requests and signatures of `bedrock::sign`'s own tests: its signature is botocore's.
#[tokio::test]
async fn botocore_signs_as_the_bedrock_dialect_does() {
    let request = |url: &str, body: &str, service: &str, region: &str| {
        json!({
            "url": url, "body": body, "service": service, "region": region,
            "access_key_id": "AKIDEXAMPLE",
            "secret_access_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            "session_token": null,
            "at": 1_440_938_160,
        })
    };
    let encoded =
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v1%3A0/converse-stream";
    let requests = json!([
        request("https://example.amazonaws.com/", "", "service", "us-east-1"),
        request(encoded, r#"{"messages":[]}"#, "bedrock", "eu-west-1"),
    ]);
    let signed = run("sign.py", "", &requests.to_string()).await;
    let authorization = |scope: &str, signature: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/{scope}/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature={signature}"
        )
    };
    assert_eq!(
        signed,
        json!([
            authorization(
                "us-east-1/service",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            authorization(
                "eu-west-1/bedrock",
                "269fbe684cb339768770380ad5ffe0502c335706555567929e9e785fcecaf144",
            ),
        ])
    );
}
