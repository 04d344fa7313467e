//! Models on servers of others: the key, and the bound on turns at once.

use std::sync::Arc;

use colloquy::ports::{EngineKind, LlmRow, LoadNotice, Models, NotAdmitted};
use colloquy_core::{
    control_tokens::ControlTokens,
    turn::{Failure, Locality},
};
use colloquy_models::engines::{Engines, EnginesConfig, WAITING_MAX};
use tokio::sync::mpsc;

use crate::stage::{open, row, soon};

fn model(api_key_env: Option<&str>) -> LlmRow {
    row(EngineKind::OpenAi {
        base_url: "http://127.0.0.1:9/v1".into(),
        model: "theirs".into(),
        api_key_env: api_key_env.map(str::to_owned),
    })
}

fn engines(parallel_remote: usize) -> Engines {
    Engines::new(EnginesConfig { parallel_remote, ..EnginesConfig::new("/nowhere".into()) }).unwrap()
}

#[tokio::test]
async fn a_remote_model_is_open_at_once_with_its_declared_window() {
    let engines = engines(2);
    let model = model(None);
    assert_eq!(engines.admit(Some(&model)).unwrap().locality(), Locality::Remote);
    let (opened, notices) = open(&engines, &model).await;
    let opened = opened.unwrap();
    assert_eq!((opened.spec.context_window, notices), (Some(2_048), Vec::new()));
    assert_eq!(*opened.control_tokens, ControlTokens::KnownMarkers);
    assert_eq!(opened.model.name().1, "theirs");
    assert_eq!(engines.allocated_window(&model), None);
}

#[tokio::test]
async fn a_key_that_is_not_in_the_environment_is_named() {
    let (opened, _) = open(&engines(1), &model(Some("COLLOQUY_TEST_NO_SUCH_KEY"))).await;
    match opened.unwrap_err().0 {
        Failure::Refused { detail } => assert!(detail.contains("COLLOQUY_TEST_NO_SUCH_KEY"), "{detail}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn more_turns_than_allowed_at_once_wait_and_the_queue_has_an_end() {
    let engines = Arc::new(engines(1));
    let model = model(None);
    let first = open(&engines, &model).await.0.unwrap();
    let (notices, mut told) = mpsc::channel(1);
    let second = tokio::spawn(engines.admit(Some(&model)).unwrap().open(notices));
    assert_eq!(soon(told.recv()).await, Some(LoadNotice::Waiting));

    let waiting: Vec<_> = (1..WAITING_MAX).map(|_| engines.admit(Some(&model)).unwrap()).collect();
    assert_eq!(engines.admit(Some(&model)).err(), Some(NotAdmitted::Overloaded { waiting: WAITING_MAX }));
    drop((first, waiting));
    assert!(soon(second).await.unwrap().is_ok());
}
