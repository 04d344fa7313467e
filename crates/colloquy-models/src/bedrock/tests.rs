use std::sync::Arc;

use axum::{Router, body::Body, extract::Request, http::StatusCode, response::Response};
use colloquy::ports::{Clock, Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::{
    message::{FinishReason, TimeMs, Usage},
    seat::ModelSpec,
    turn::Failure,
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{Bedrock, ConverseWire, Credentials, Endpoint, SERVICE, sign::Unsigned};
use crate::{
    event_stream::encode::{event, exception},
    golden,
    wire::{Framing, Wire},
};

/// 2015-08-30T12:36:00Z.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> TimeMs {
        1_440_938_160_000
    }
}

fn endpoint() -> Endpoint {
    let credentials = Credentials {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "very-secret".into(),
        session_token: Some("session-token".into()),
    };
    Endpoint::in_region(
        "eu-west-1",
        "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.claude-v1:0",
        credentials,
    )
}

fn wire() -> ConverseWire {
    ConverseWire::new(endpoint(), Arc::new(ModelSpec::default()), Arc::new(Stopped))
}

fn sampled(wire: &ConverseWire) -> (bool, bool) {
    let body: Value = serde_json::from_slice(&wire.request(&golden::plain()).unwrap().body).unwrap();
    let config = &body["inferenceConfig"];
    (config["temperature"].is_number(), config["topP"].is_number())
}

#[test]
fn a_request_goes_to_the_stream_of_its_model_and_is_dated_by_the_clock() {
    let request = wire().request(&golden::plain()).unwrap();
    assert_eq!(
        request.url,
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/\
         arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.claude-v1%3A0/converse-stream"
    );
    let header = |name: &str| {
        request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    };
    assert_eq!(header("x-amz-date"), Some("20150830T123600Z"));
    assert_eq!(header("x-amz-security-token"), Some("session-token"));
    let scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, ";
    assert!(header("authorization").unwrap().starts_with(scope), "{:?}", request.headers);
    assert_eq!(wire().framing(), Framing::AwsEventStream);
    assert_eq!(wire().name().0, "bedrock-converse");
}

/// A service that answers with `frames`, one byte at a time, whoever signs as it does itself, and
/// turns everybody else away.
async fn serve(frames: Vec<Vec<u8>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let answer = move |request: Request| {
        let bytes = frames.concat();
        async move {
            let (head, body) = request.into_parts();
            let header = |name: &str| head.headers[name].to_str().unwrap().to_owned();
            // The query of a Converse request is empty, so the path is all of the target.
            let url = format!("http://{}{}", header("host"), head.uri.path());
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let unsigned = Unsigned { url: &url, body: &body, service: SERVICE, at: Stopped.now() };
            let expected = unsigned.sign(&endpoint().credentials, "eu-west-1").unwrap();
            if expected.iter().any(|(name, value)| header(name) != *value) {
                let refusal = Body::from(r#"{"message":"The request signature does not match"}"#);
                return Response::builder().status(StatusCode::FORBIDDEN).body(refusal).unwrap();
            }
            let bytes = bytes.into_iter().map(|byte| Ok::<_, std::io::Error>(vec![byte]));
            let answer = Response::builder().header("content-type", header("accept"));
            answer.body(Body::from_stream(stream::iter(bytes))).unwrap()
        }
    };
    tokio::spawn(axum::serve(listener, Router::new().fallback(answer)).into_future());
    base_url
}

async fn ask(base_url: String, region: &str) -> Result<Vec<Result<ModelChunk, ModelError>>, ModelError> {
    let endpoint = Endpoint { base_url, region: region.into(), ..endpoint() };
    let model = Bedrock::new(endpoint, ModelSpec::default(), Arc::new(Stopped)).unwrap();
    Ok(model.call(golden::plain()).await?.collect().await)
}

#[tokio::test]
async fn what_is_signed_is_what_is_sent_and_the_frames_are_read_as_they_come() {
    let frames = vec![
        event("messageStart", r#"{"role":"assistant"}"#),
        event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Madrid."}}"#),
        event("messageStop", r#"{"stopReason":"end_turn"}"#),
        event("metadata", r#"{"usage":{"inputTokens":20,"outputTokens":3,"totalTokens":23}}"#),
    ];
    let chunks = ask(serve(frames).await, "eu-west-1").await.unwrap();
    let usage = Usage { prompt_tokens: Some(20), output_tokens: Some(3), ..Usage::default() };
    let end = ModelChunk::End { finish_reason: FinishReason::Stop, usage };
    assert_eq!(chunks, [Ok(ModelChunk::Text("Madrid.".into())), Ok(end)]);
}

#[tokio::test]
async fn an_exception_in_place_of_an_answer_is_the_calls_own_failure() {
    let frames = vec![exception("throttlingException", r#"{"message":"Too many requests"}"#)];
    let failed = ask(serve(frames).await, "eu-west-1").await;
    let detail = "the model's server answered 429: Too many requests".to_owned();
    let passing = colloquy_core::retry::Passing::RateLimit;
    assert_eq!(failed, Err(ModelError(Failure::Busy { passing, detail })));
}

#[tokio::test]
async fn a_signature_for_another_region_is_refused_in_the_services_words() {
    let failed = ask(serve(vec![]).await, "us-east-1").await;
    let detail = "the model's server answered 403: The request signature does not match".to_owned();
    assert_eq!(failed, Err(ModelError(Failure::Refused { detail })));
}

#[tokio::test]
async fn an_answer_that_breaks_off_within_a_frame_fails_after_what_came() {
    let mut cut = event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"lost"}}"#);
    cut.pop();
    let frames = vec![event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"kept"}}"#), cut];
    let chunks = ask(serve(frames).await, "eu-west-1").await.unwrap();
    let [Ok(ModelChunk::Text(text)), Err(ModelError(Failure::Transient { detail }))] = &chunks[..] else {
        panic!("{chunks:?}");
    };
    assert!(text == "kept" && detail.contains("before the answer ended"), "{detail}");
}

#[test]
fn another_body_is_another_signature() {
    let mut other = golden::plain();
    other.options.max_tokens = Some(1);
    let signature = |call: &ModelCall| {
        let headers = wire().request(call).unwrap().headers;
        headers.into_iter().find(|(name, _)| *name == "authorization").unwrap().1
    };
    assert_eq!(signature(&golden::plain()), signature(&golden::plain()));
    assert_ne!(signature(&golden::plain()), signature(&other));
}

#[test]
fn no_secret_appears_in_debug_text() {
    let model = Bedrock::new(endpoint(), ModelSpec::default(), Arc::new(Stopped)).unwrap();
    let shown = format!("{:?} {:?} {model:?}", endpoint(), wire());
    assert!(shown.contains("AKIDEXAMPLE"), "{shown}");
    assert!(!shown.contains("very-secret") && !shown.contains("session-token"), "{shown}");
}

#[test]
fn what_a_model_does_not_take_is_learnt_from_its_refusal_and_not_sent_again() {
    let wire = wire();
    assert_eq!(sampled(&wire), (true, true));
    let both = "The model returned the following errors: `temperature` and `top_p` cannot both be specified";
    assert!(wire.learns_from(400, both, &golden::plain()));
    assert_eq!(sampled(&wire), (true, false));
    let neither = "This model doesn't support the temperature field. Remove temperature and try again.";
    assert!(wire.learns_from(400, neither, &golden::plain()));
    assert_eq!(sampled(&wire), (false, false));
    wire.unlearns();
    assert_eq!(sampled(&wire), (true, true));
}

#[test]
fn other_refusals_teach_nothing() {
    for (status, message) in [(400, "Malformed input request"), (403, "temperature")] {
        assert!(!wire().learns_from(status, message, &golden::plain()), "{message}");
    }
    assert_eq!(sampled(&wire()), (true, true));
}
