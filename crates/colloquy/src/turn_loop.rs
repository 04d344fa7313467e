//! The one turn loop: it does what the state machine of the core decides, and feeds back what
//! happened. The only place where the effects of a turn take place (design § 3).
//!
//! No branching on the state of the turn happens here. A stop or a lost lease interrupts whatever
//! effect is under way; a commit that has begun is not interrupted, but bounded.

mod append;
mod close;
mod reply;
mod sample;
mod summarize;
mod tools;

use std::sync::Arc;

use colloquy_core::{
    block::{Block, ToolResult},
    message::{LlmId, Message, Origin},
    turn::{Failure, Rules, Turn, TurnEffect, TurnEvent},
};
use tokio::sync::mpsc;

use crate::{
    ports::{InboxMessage, LoadNotice, Opened, Principal, Ticket},
    service::{Kept, Running, Shared, SharedInstance},
    stream::{Done, Progress, StreamEvent},
};

use append::Step;
pub(crate) use close::{ToClose, closing_messages, commit_within_limit, error_of};
use reply::Reply;
pub(crate) use sample::{Budget, Expected, Request, defaults_of};

/// Everything a turn needs from its durable question on.
pub(crate) struct TurnRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) principal: Principal,
    pub(crate) running: Arc<Running>,
    /// The installed model that answers, if it is one.
    pub(crate) llm_id: Option<LlmId>,
    pub(crate) rules: Rules,
    /// The view, repaired, with the question last.
    pub(crate) branch: Vec<Message>,
    /// The texts of its starred messages.
    pub(crate) starred: Vec<String>,
    pub(crate) instance: SharedInstance,
    pub(crate) request: Request,
    pub(crate) ticket: Box<dyn Ticket>,
}

/// What the effects of a turn work on.
struct Work {
    shared: Arc<Shared>,
    principal: Principal,
    running: Arc<Running>,
    llm_id: Option<LlmId>,
    branch: Vec<Message>,
    starred: Vec<String>,
    instance: SharedInstance,
    request: Request,
    opened: Option<Opened>,
    /// Counts the model calls whose messages were committed.
    step: u32,
    /// What the model call at hand has said.
    reply: Reply,
    /// What it came to, once it ended by itself.
    said: Option<Step>,
    /// The results of the step's calls, in their order, as they come in.
    results: Vec<Option<ToolResult>>,
    /// What the inbox gave and no commit holds yet.
    held: Vec<InboxMessage>,
}

/// Runs one turn to its end. The caller makes room for the next turn, then tells `done`.
pub(crate) async fn run_turn(run: TurnRun) -> (Option<Kept>, Done) {
    let mut turn = Turn::new(run.rules);
    let mut ticket = Some(run.ticket);
    let running = Arc::clone(&run.running);
    let mut work = Work {
        shared: run.shared,
        principal: run.principal,
        running: run.running,
        llm_id: run.llm_id,
        branch: run.branch,
        starred: run.starred,
        instance: run.instance,
        request: run.request,
        opened: None,
        step: 0,
        reply: Reply::default(),
        said: None,
        results: Vec::new(),
        held: Vec::new(),
    };
    let mut event = TurnEvent::Started;
    let ending = loop {
        let effect = turn.handle(event).unwrap_or_else(|out_of_order| {
            tracing::error!(error = &out_of_order as &dyn std::error::Error, "a turn went out of order");
            TurnEffect::give_up()
        });
        event = match effect {
            TurnEffect::LoadEngine => match ticket.take() {
                Some(ticket) => interruptible(&running, work.load_engine(ticket)).await,
                None => internal_failure(),
            },
            TurnEffect::Sample(plan) => match work.announce().await {
                Ok(()) => {
                    let asking = async {
                        work.summarize().await;
                        work.sample(plan).await
                    };
                    interruptible(&running, asking).await
                }
                Err(event) => event,
            },
            TurnEffect::CallTools => match work.append_calls().await {
                Ok(()) => interruptible(&running, work.run_tools()).await,
                Err(event) => event,
            },
            TurnEffect::AppendResults { deliver_inbox } => work.append_results(deliver_inbox).await,
            TurnEffect::AppendCorrection => work.append_correction().await,
            TurnEffect::AppendNudge => work.append_nudge().await,
            TurnEffect::PollInbox => interruptible(&running, work.poll_inbox()).await,
            TurnEffect::AppendFollowUp => work.append_follow_up().await,
            TurnEffect::Close(ending) => break Some(ending),
            TurnEffect::Abandon | TurnEffect::Rest => break None,
        };
    };
    work.close(ending).await
}

impl Work {
    /// Waits for the engine and tells the reader what it waits for.
    async fn load_engine(&mut self, ticket: Box<dyn Ticket>) -> TurnEvent {
        let (notices, mut told) = mpsc::channel(8);
        let log = &self.running.log;
        let telling = async {
            while let Some(notice) = told.recv().await {
                log.push(match notice {
                    LoadNotice::Waiting => StreamEvent::Progress(Progress::Waiting),
                    LoadNotice::Loading => StreamEvent::Progress(Progress::Loading),
                    LoadNotice::Reload => StreamEvent::Reload,
                });
            }
        };
        let (result, ()) = tokio::join!(ticket.open(notices), telling);
        match result {
            Ok(opened) => {
                let can_escalate = self.request.allow(&opened.spec, self.has_tools());
                self.opened = Some(opened);
                can_escalate.map_or_else(failed, |can_escalate| TurnEvent::EngineReady { can_escalate })
            }
            Err(error) => failed(error.0),
        }
    }

    fn has_tools(&self) -> bool {
        crate::service::lock_instance(&self.instance).has_tools()
    }

    fn origin(&self) -> Option<Origin> {
        let (dialect, model) = self.opened.as_ref()?.model.name();
        Some(Origin { llm_id: self.llm_id, dialect: dialect.into(), model })
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

fn failed(failure: Failure) -> TurnEvent {
    TurnEvent::Failed { failure, after_first_chunk: false }
}

fn internal_failure() -> TurnEvent {
    failed(Failure::Internal)
}

/// The blocks of a message that holds `text` alone.
fn text_blocks(text: impl Into<String>) -> Vec<Block> {
    vec![Block::Text(text.into())]
}
