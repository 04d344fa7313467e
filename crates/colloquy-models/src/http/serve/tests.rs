use std::sync::Arc;

use colloquy::ports::{Models, NotAdmitted};
use colloquy_core::{control_tokens::ControlTokens, seat::ModelSpec, turn::Locality};
use colloquy_testkit::scripted_server::{Reply, ScriptedServer};
use futures::StreamExt;
use tokio::sync::mpsc;

use super::super::PARALLEL;
use crate::{
    golden,
    openai::{Endpoint, OpenAi},
    queue::WAITING_MAX,
};

fn model(base_url: &str) -> OpenAi {
    let spec = ModelSpec { id: "the one".into(), context_window: Some(32_768), ..ModelSpec::default() };
    OpenAi::new(Endpoint::new(base_url, "theirs"), spec).unwrap()
}

#[tokio::test]
async fn a_conversation_that_names_no_model_is_answered_by_the_one_there_is() {
    let server = ScriptedServer::always(Reply::answer("Paris."), 0).await.unwrap();
    let model = model(&server.base_url());
    let ticket = model.admit(None).unwrap();
    assert_eq!((ticket.locality(), ticket.spec().context_window), (Locality::Remote, Some(32_768)));
    let opened = ticket.open(mpsc::channel(1).0).await.unwrap();
    assert_eq!((opened.spec.id.as_str(), &*opened.control_tokens), ("the one", &ControlTokens::KnownMarkers));
    assert_eq!(opened.model.name(), ("openai", "theirs".into()));
    let chunks: Vec<_> = opened.model.call(golden::plain()).await.unwrap().collect().await;
    assert!(chunks.iter().all(Result::is_ok) && !chunks.is_empty(), "{chunks:?}");
    model.shut_down().await;
}

#[tokio::test]
async fn more_turns_than_allowed_at_once_wait_and_the_queue_has_an_end() {
    let model = model("http://127.0.0.1:9/v1");
    let mut running = Vec::new();
    for _ in 0..PARALLEL {
        running.push(model.admit(None).unwrap().open(mpsc::channel(1).0).await.unwrap());
    }
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| model.admit(None).unwrap()).collect();
    let full = NotAdmitted::Overloaded { waiting: WAITING_MAX };
    // A clone stands in the same queue.
    assert_eq!(model.clone().admit(None).err(), Some(full));
    let (notices, mut told) = mpsc::channel(1);
    let last = tokio::spawn(waiting.pop().unwrap().open(notices));
    assert!(told.recv().await.is_some());
    running.pop();
    assert!(Arc::strong_count(&last.await.unwrap().unwrap().spec) > 1);
    assert!(model.admit(None).is_ok());
}
