//! The one loop of a turn: effect, port, event (design § 3). The only place where the effects of
//! a turn happen; what happens next is decided by [`Turn::handle`].
//!
//! A stop, a lost lease and a dead engine are events like any other. Whatever happens, the loop
//! ends in one closing commit, or in none when the lease is lost.

mod sample;

use std::{future::Future, sync::Arc, time::Duration};

use colloquy_core::{
    block::{Block, ToolResult},
    closing::{Closing, closing},
    curated,
    message::{FinishReason, Kind, Message, Origin, text_of},
    turn::{Ending, Failure, Outcome, Turn, TurnEffect, TurnEvent},
};
use tokio::sync::mpsc;

use crate::{
    ports::{
        Commit, Committed, IdSource, Lease, LlmRow, LoadNotice, NewMessage, Opened, Principal, Store,
        StoreError, Ticket,
    },
    service::{Kept, Running, Shared},
    stream::{Done, Progress, StreamError, StreamEvent},
};
use sample::Sampler;
pub(crate) use sample::{Request, defaults_of};

/// Longest a closing commit may take before the turn is given up (server reference § 8).
const COMMIT_LIMIT: Duration = Duration::from_secs(10);

/// Everything a turn needs from its durable question on.
pub(crate) struct TurnRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) principal: Principal,
    pub(crate) running: Arc<Running>,
    pub(crate) llm: LlmRow,
    pub(crate) request: Request,
    pub(crate) ticket: Box<dyn Ticket>,
}

/// Runs one turn to its end. The caller makes room for the next turn, then tells `done`.
pub(crate) async fn run_turn(run: TurnRun) -> (Option<Kept>, Done) {
    let TurnRun { shared, principal, running, llm, request, ticket } = run;
    let mut turn = Turn::new(ticket.locality());
    let mut sampler = Sampler::new(Arc::clone(&running), request);
    let mut ticket = Some(ticket);
    let mut opened: Option<Opened> = None;
    let mut event = TurnEvent::Started;
    let ending = loop {
        let effect = turn.handle(event).unwrap_or_else(|out_of_order| {
            tracing::error!(error = &out_of_order as &dyn std::error::Error, "a turn went out of order");
            TurnEffect::give_up()
        });
        event = match (effect, &opened) {
            (TurnEffect::LoadEngine, _) => match ticket.take() {
                Some(ticket) => interruptible(&running, load_engine(&running, ticket, &mut opened)).await,
                None => internal_failure(),
            },
            (TurnEffect::Sample { attempt }, Some(opened)) => {
                interruptible(&running, sampler.sample(opened, attempt)).await
            }
            (TurnEffect::Sample { .. }, None) => internal_failure(),
            (TurnEffect::Close(ending), _) => break Some(ending),
            (TurnEffect::Abandon | TurnEffect::Rest, _) => break None,
        };
    };
    let origin = opened.map(|opened| origin_of(&llm, &opened));
    let Request { messages, starred, .. } = sampler.finish();
    close(&shared, &principal, &running, Branch { messages, starred, origin }, ending).await
}

/// What the model was shown, and who answered.
struct Branch {
    messages: Vec<Message>,
    starred: Vec<String>,
    origin: Option<Origin>,
}

/// Commits the ending, if there is one to commit, and says what `done` tells.
async fn close(
    shared: &Shared,
    principal: &Principal,
    running: &Running,
    branch: Branch,
    ending: Option<Ending>,
) -> (Option<Kept>, Done) {
    let Branch { mut messages, starred, origin } = branch;
    let question = messages.last().expect("BUG: a turn has a question");
    let mut done = Done {
        turn_uid: running.turn_uid,
        outcome: Outcome::Interrupted,
        question_id: question.id,
        message_id: None,
        usage: ending
            .as_ref()
            .and_then(|ending| ending.sampled)
            .map(|sampled| sampled.usage)
            .unwrap_or_default(),
    };
    let Some(ending) = ending else {
        running.log.push(StreamEvent::Error(error_of(&Failure::Internal)));
        return (None, done);
    };
    let error = ending.failure.as_ref().map(error_of);
    let shown = running.log.blocks();
    let line = line_of(running, &ending);
    let mut closing = closing_messages(shared.ids.as_ref(), &messages, &[], shown, line);
    if let Some(answer) = closing.last_mut() {
        answer.origin = origin;
        answer.usage = ending.sampled.map(|sampled| sampled.usage);
        answer.finish_reason = ending.sampled.map(|sampled| sampled.finish_reason);
    }
    let (first_seq, tail) = running.log.unstored();
    let commit = Commit {
        turn_id: running.owned().1,
        parent_id: question.id,
        messages: closing,
        outcome: ending.outcome,
        // The error, if any, and `done` are still to be told.
        last_seq: running.log.last_seq() + 1 + u64::from(error.is_some()),
        error: error.clone(),
        tail,
        first_seq,
        at: shared.clock.now(),
    };
    match commit_within_limit(shared.store.as_ref(), principal, &running.owned().0, commit).await {
        Ok(Committed { messages: answers, version }) => {
            if let Some(error) = error {
                running.log.push(StreamEvent::Error(error));
            }
            done.outcome = ending.outcome;
            done.message_id = answers.last().map(|message| message.id);
            messages.extend(answers);
            (Some(Kept { messages, starred, version }), done)
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "failed to commit a turn");
            running.log.push(StreamEvent::Error(error_of(&Failure::Internal)));
            (None, done)
        }
    }
}

/// The messages that end a committed branch: results for open calls, then what the reader saw or,
/// where that is blank, `line`. Empty when the branch is closed already.
pub(crate) fn closing_messages(
    ids: &dyn IdSource,
    committed: &[Message],
    finished: &[ToolResult],
    mut shown: Vec<Block>,
    line: Option<String>,
) -> Vec<NewMessage> {
    let shown_text = text_of(&shown);
    let answered = !shown_text.trim().is_empty();
    let text = if answered { shown_text } else { line.unwrap_or_default() };
    let Some(Closing { results, text }) = closing(committed, finished, &text) else {
        return Vec::new();
    };
    if !answered {
        shown.retain(|block| !matches!(block, Block::Text(_)));
        shown.push(Block::Text(text));
    }
    let step = committed.last().map_or(0, |message| message.step);
    let new = |kind, app_authored, blocks| NewMessage {
        uid: ids.uid(),
        step,
        kind,
        app_authored,
        blocks,
        origin: None,
        usage: None,
        finish_reason: None,
    };
    let mut messages = Vec::new();
    if !results.is_empty() {
        messages.push(new(Kind::Results, true, results.into_iter().map(Block::ToolResult).collect()));
    }
    messages.push(new(if answered { Kind::Answer } else { Kind::Closing }, !answered, shown));
    messages
}

/// The line that stands for an answer that never came. An answer that was never begun is told to
/// the reader as well.
fn line_of(running: &Running, ending: &Ending) -> Option<String> {
    if let Some(failure) = &ending.failure {
        return Some(curated::failure_text(failure));
    }
    if ending.outcome != Outcome::NoAnswer {
        return None;
    }
    let reason = ending.sampled.map_or(FinishReason::Stop, |sampled| sampled.finish_reason);
    let line = curated::no_answer_text(reason);
    running.log.push(StreamEvent::Answer(line.into()));
    Some(line.into())
}

/// One bounded closing commit; past the limit the turn is given up and recovery closes it.
pub(crate) async fn commit_within_limit(
    store: &dyn Store,
    principal: &Principal,
    lease: &Lease,
    commit: Commit,
) -> Result<Committed, StoreError> {
    match tokio::time::timeout(COMMIT_LIMIT, store.commit_turn(principal, lease, commit)).await {
        Ok(result) => result,
        Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
    }
}

/// Does `effect` until it is done, or until the turn is stopped or its lease lost.
async fn interruptible(running: &Running, effect: impl Future<Output = TurnEvent>) -> TurnEvent {
    tokio::select! {
        biased;
        () = running.lost.cancelled() => TurnEvent::LeaseLost,
        () = running.stop.cancelled() => TurnEvent::StopAsked,
        event = effect => event,
    }
}

/// Waits for the engine and tells the reader what it waits for.
async fn load_engine(running: &Running, ticket: Box<dyn Ticket>, opened: &mut Option<Opened>) -> TurnEvent {
    let (notices, mut told) = mpsc::channel(8);
    let telling = async {
        while let Some(notice) = told.recv().await {
            running.log.push(match notice {
                LoadNotice::Waiting => StreamEvent::Progress(Progress::Waiting),
                LoadNotice::Loading => StreamEvent::Progress(Progress::Loading),
                LoadNotice::Reload => StreamEvent::Reload,
            });
        }
    };
    let (result, ()) = tokio::join!(ticket.open(notices), telling);
    match result {
        Ok(engine) => {
            *opened = Some(engine);
            TurnEvent::EngineReady
        }
        Err(error) => TurnEvent::Failed { failure: error.0, after_first_chunk: false },
    }
}

fn origin_of(llm: &LlmRow, opened: &Opened) -> Origin {
    let (dialect, model) = opened.model.name();
    Origin { llm_id: Some(llm.id), dialect: dialect.into(), model }
}

fn internal_failure() -> TurnEvent {
    TurnEvent::Failed { failure: Failure::Internal, after_first_chunk: false }
}

/// A failure as it is told and stored: our text for people, the engine's own words beside it.
pub(crate) fn error_of(failure: &Failure) -> StreamError {
    let raw = match failure {
        Failure::Engine { detail }
        | Failure::Transient { detail }
        | Failure::Refused { detail }
        | Failure::ContentRefused { detail } => Some(detail.clone()),
        Failure::Overflow { .. } | Failure::Silent { .. } | Failure::Internal => None,
    };
    StreamError { code: failure.code().name().into(), text: curated::failure_text(failure), raw }
}
