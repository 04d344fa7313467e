//! From a question to a running turn: commit (a), and what the turn loop needs after it.

use std::sync::Arc;

use colloquy_core::{conversation::Settings, message::ConversationId, objective::Tier, repair::repair};

use super::{Ask, AskError, Kept, Place, Running, Shared, TurnHandle, running::StopOnDrop};
use crate::{
    ports::{AppendedQuestion, ConversationRow, LlmRow, Principal, StoreError, Ticket},
    recovery,
    stream::StreamEvent,
    turn_loop::{Request, TurnRun, defaults_of, run_turn},
};

/// A turn with its place, ready to run.
pub(super) struct Begun {
    pub(super) run: TurnRun,
    id: ConversationId,
    place: Place,
}

impl Begun {
    /// Runs the turn, keeps its view for the next one, then makes room and tells `done`.
    pub(super) async fn drive(self) {
        let Self { run, id, place } = self;
        let (shared, running) = (Arc::clone(&run.shared), Arc::clone(&run.running));
        let (kept, done) = run_turn(run).await;
        if let Some(view) = kept {
            let mut views = shared.kept();
            // Looked at under the lock: who stars a message marks the turn before it forgets.
            if !running.is_outdated() {
                views.keep(id, view);
            }
        }
        place.leave(StreamEvent::Done(done));
    }
}

/// Refuses what cannot start, then makes the question durable.
pub(super) async fn begin_turn(
    shared: &Arc<Shared>,
    principal: &Principal,
    id: ConversationId,
    ask: Ask,
) -> Result<(Begun, TurnHandle), AskError> {
    if ask.text.trim().is_empty() {
        return Err(AskError::Blank);
    }
    if shared.closing.is_cancelled() {
        return Err(AskError::ShuttingDown);
    }
    let running = Running::new(shared.ids.uid(), &shared.closing);
    let place = match Place::take(&shared.running, id, &running) {
        Ok(place) => place,
        Err(taken) => {
            // Only who may see the conversation learns that a turn runs on it.
            bound(shared, principal, id).await?;
            return Err(AskError::TurnInProgress { turn_uid: Some(taken.turn_uid) });
        }
    };
    let parts = match ask_store(shared, principal, id, &running, &ask).await {
        // The place is ours, so that turn runs nowhere here. If its process died it is closed.
        Err(AskError::TurnInProgress { turn_uid }) => {
            let closed =
                recovery::close_dead_turns(shared, shared.clock.now()).await.map_err(AskError::Store)?;
            if closed == 0 {
                return Err(AskError::TurnInProgress { turn_uid });
            }
            ask_store(shared, principal, id, &running, &ask).await?
        }
        parts => parts?,
    };
    running.own(parts.asked.lease, parts.asked.turn_id);
    let handle = TurnHandle {
        turn_uid: running.turn_uid,
        question_id: parts.asked.message.id,
        reader: running.log.reader(),
        _stop: StopOnDrop(Arc::clone(&running)),
    };
    Ok((Begun { run: turn_run(shared, principal, running, parts, ask), id, place }, handle))
}

/// Checks what only the store and the queue know, then appends the question.
async fn ask_store(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
    running: &Running,
    ask: &Ask,
) -> Result<Parts, AskError> {
    // Read now that no other turn of this process can move the tip.
    let (row, llm) = bound(shared, principal, id).await?;
    if ask.parent_id.is_some_and(|parent_id| row.tip_id != Some(parent_id)) {
        return Err(AskError::StaleParent { tip_id: row.tip_id });
    }
    let ticket = shared.models.admit(&llm)?;
    let kept = view_of(shared, principal, &row).await?;
    let asked = append(shared, principal, &row, running, ask).await?;
    Ok(Parts { row, llm, ticket, kept, asked })
}

/// The conversation and the model it is bound to.
async fn bound(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
) -> Result<(ConversationRow, LlmRow), AskError> {
    let row = shared.store.find_conversation(principal, id).await.map_err(AskError::Store)?;
    let row = row.ok_or(AskError::NoSuchConversation)?;
    let llm_id = row.llm_id.ok_or(AskError::Unbound)?;
    let llm = shared.store.find_llm(principal, llm_id).await.map_err(AskError::Store)?;
    Ok((row, llm.ok_or(AskError::Unbound)?))
}

/// The branch as the next step shows it: from memory when it is the store's version, else loaded
/// and repaired.
async fn view_of(shared: &Shared, principal: &Principal, row: &ConversationRow) -> Result<Kept, AskError> {
    if let Some(kept) = shared.kept().take(row.id, row.version) {
        return Ok(kept);
    }
    if row.tip_id.is_none() {
        return Ok(Kept { messages: Vec::new(), starred: Vec::new(), version: row.version });
    }
    let view = shared.store.load_view(principal, row.id).await.map_err(AskError::Store)?;
    let view = view.ok_or(AskError::NoSuchConversation)?;
    let (messages, repairs) = repair(view.messages);
    for repair in &repairs {
        tracing::warn!(conversation = row.id.0, ?repair, "repaired the view of a stored conversation");
    }
    Ok(Kept { messages, starred: view.starred, version: row.version })
}

/// Commit (a).
async fn append(
    shared: &Shared,
    principal: &Principal,
    row: &ConversationRow,
    running: &Running,
    ask: &Ask,
) -> Result<AppendedQuestion, AskError> {
    let question = shared.question(row, running, &ask.text, Some(ask));
    let appended = shared.store.append_question(principal, row.id, question).await;
    appended.map_err(|error| match error {
        StoreError::TurnInProgress { turn_uid } => AskError::TurnInProgress { turn_uid },
        StoreError::StaleParent { tip_id } => AskError::StaleParent { tip_id },
        StoreError::NoSuchConversation => AskError::NoSuchConversation,
        StoreError::StaleOwner
        | StoreError::NameTaken
        | StoreError::Newer { .. }
        | StoreError::DiskFull
        | StoreError::Unavailable(_)
        | StoreError::Corrupt(_) => AskError::Store(error),
    })
}

/// What a turn is made of once its question is durable.
struct Parts {
    row: ConversationRow,
    llm: LlmRow,
    ticket: Box<dyn Ticket>,
    kept: Kept,
    asked: AppendedQuestion,
}

fn turn_run(
    shared: &Arc<Shared>,
    principal: &Principal,
    running: Arc<Running>,
    parts: Parts,
    ask: Ask,
) -> TurnRun {
    let Parts { row, llm, ticket, kept, asked } = parts;
    let mut messages = kept.messages;
    messages.push(asked.message);
    let settings = Settings {
        temperature: ask.temperature.unwrap_or(row.settings.temperature),
        top_p: ask.top_p.unwrap_or(row.settings.top_p),
        custom_prompt: ask.custom_prompt.unwrap_or(row.settings.custom_prompt),
        ..row.settings
    };
    let request = Request {
        messages,
        starred: kept.starred,
        tier: Tier::of(llm.param_size),
        settings,
        defaults: defaults_of(llm.generation_config.as_deref(), llm.context_window),
        max_tokens: shared.max_tokens,
        retry_pause_ms: shared.timing.retry_pause_ms,
    };
    TurnRun { shared: Arc::clone(shared), principal: principal.clone(), running, llm, request, ticket }
}
