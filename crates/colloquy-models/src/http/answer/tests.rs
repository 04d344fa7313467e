//! Time stands still here and moves only when nothing else can happen.

use std::{convert::Infallible, error::Error, io, time::Duration};

use bytes::Bytes;
use colloquy::ports::{ModelChunk, ModelError};
use colloquy_core::{message::FinishReason, turn::Failure};
use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, sleep};

use super::{Answer, AnswerDecoder, DRAIN_WAIT, USAGE_WAIT};
use crate::{openai::ChatReader, wire::Framing};

const FIRST: Duration = Duration::from_secs(300);
const BETWEEN: Duration = super::BETWEEN_CHUNKS;
const MOMENT: Duration = Duration::from_millis(1);

const ROLE: &str = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}"#;
const READING: &str = r#"data: {"choices":[],"prompt_progress":{"total":9,"processed":3}}"#;
const TEXT: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
const FINISH: &str = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const PING: &str = ": ping";

/// Says each line after its wait, and then nothing more.
fn body(lines: &'static [(Duration, &str)]) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + Unpin {
    let said = stream::iter(lines).then(|(wait, line)| async move {
        sleep(*wait).await;
        Ok(Bytes::from(format!("{line}\n\n")))
    });
    said.chain(stream::pending()).boxed()
}

fn answer<S, E>(body: S) -> Answer<S, ChatReader>
where
    S: Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    E: Error + Send + 'static,
{
    Answer::new(body, AnswerDecoder::new(Framing::Sse, ChatReader::default(), None), None, FIRST)
}

async fn run(lines: &'static [(Duration, &str)]) -> (Vec<Result<ModelChunk, ModelError>>, Duration) {
    let began = Instant::now();
    let items = match answer(body(lines)).start().await {
        Ok(stream) => stream.collect().await,
        Err(failure) => vec![Err(failure)],
    };
    (items, began.elapsed())
}

fn text() -> Result<ModelChunk, ModelError> {
    Ok(ModelChunk::Text("a".into()))
}

fn silent(limit: Duration) -> Result<ModelChunk, ModelError> {
    Err(ModelError(Failure::Silent { waited_s: u32::try_from(limit.as_secs()).unwrap() }))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up_at_the_first_limit() {
    let (items, elapsed) = run(&[]).await;
    assert_eq!((items, elapsed), (vec![silent(FIRST)], FIRST));
}

#[tokio::test(start_paused = true)]
async fn a_first_chunk_just_before_the_limit_is_in_time_and_the_shorter_limit_holds_from_there() {
    const LINES: &[(Duration, &str)] = &[(FIRST.saturating_sub(MOMENT), TEXT)];
    let (items, elapsed) = run(LINES).await;
    assert_eq!((items, elapsed), (vec![text(), silent(BETWEEN)], FIRST - MOMENT + BETWEEN));
}

#[tokio::test(start_paused = true)]
async fn each_chunk_starts_the_limit_between_chunks_anew() {
    const WAIT: Duration = BETWEEN.saturating_sub(MOMENT);
    let (items, elapsed) = run(&[(WAIT, TEXT), (WAIT, TEXT), (WAIT, TEXT)]).await;
    assert_eq!((items, elapsed), (vec![text(), text(), text(), silent(BETWEEN)], 3 * WAIT + BETWEEN));
}

#[tokio::test(start_paused = true)]
async fn progress_with_the_prompt_is_life_and_keeps_the_longer_limit() {
    const WAIT: Duration = FIRST.saturating_sub(MOMENT);
    let (items, elapsed) = run(&[(WAIT, READING), (WAIT, ROLE), (WAIT, TEXT)]).await;
    let reading = Ok(ModelChunk::Reading { done: 3, total: 9 });
    assert_eq!((items, elapsed), (vec![reading, text(), silent(BETWEEN)], 3 * WAIT + BETWEEN));
}

#[tokio::test(start_paused = true)]
async fn comments_that_keep_a_connection_open_are_no_life() {
    let (items, elapsed) = run(&[(BETWEEN, PING), (BETWEEN, PING), (BETWEEN, PING)]).await;
    assert_eq!((items, elapsed), (vec![silent(FIRST)], FIRST));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_says_done_ends_its_answer_soon_after_the_finish_reason() {
    let (items, elapsed) = run(&[(MOMENT, TEXT), (MOMENT, FINISH)]).await;
    let end = &items[1];
    assert!(matches!(end, Ok(ModelChunk::End { finish_reason: FinishReason::Stop, .. })), "{end:?}");
    assert_eq!((items.len(), elapsed), (2, 2 * MOMENT + USAGE_WAIT));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_its_stream_open_after_done_delays_only_the_end_of_ours() {
    let stream = answer(body(&[(MOMENT, FINISH), (MOMENT, "data: [DONE]")])).start().await;
    let mut stream = std::pin::pin!(stream.unwrap());
    let began = Instant::now();
    assert!(matches!(stream.next().await, Some(Ok(ModelChunk::End { .. }))));
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(stream.next().await, None);
    assert_eq!(began.elapsed(), DRAIN_WAIT);
}

#[tokio::test]
async fn a_broken_connection_is_told_with_its_cause_after_what_was_read() {
    let broken = io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer");
    let body = stream::iter([Ok(Bytes::from(format!("{TEXT}\n\n"))), Err(broken)]);
    let stream = answer(body).start().await.unwrap();
    let items: Vec<_> = stream.collect().await;
    let detail = "connection closed before the answer ended: reset by peer".into();
    assert_eq!(items, [text(), Err(ModelError(Failure::Transient { detail }))]);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_finish_reason_breaks_nothing() {
    let body = stream::iter([Ok(Bytes::from(format!("{FINISH}\n\n"))), Err(io::Error::other("reset"))]);
    let stream = answer(body).start().await.unwrap();
    let items: Vec<_> = stream.collect().await;
    assert!(matches!(items[..], [Ok(ModelChunk::End { .. })]));
}
