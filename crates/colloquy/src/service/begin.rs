//! From a question to a running turn: commit (a), and what the turn loop needs after it.

use std::sync::{Arc, Mutex};

use colloquy_core::{
    block::{Block, ValueBlock},
    contract::Contract,
    conversation::Settings,
    message::{ConversationId, Kind},
    persona::{INSTRUCTIONS_SLOT, ObjectiveParts, Tier, render_objective},
    sampling::SamplingDefaults,
    seat::{self, Layers, ModelSpec},
    turn::Rules,
};

use super::{
    Ask, AskError, AskPart, Instance, Kept, Place, Running, Shared, SharedInstance, TurnHandle,
    lock_instance, mended, running::StopOnDrop,
};
use crate::{
    ports::{
        AppendedQuestion, ConversationRow, LlmRow, NewMessage, Principal, Question, Sampling, StoreError,
        StoredHead, Ticket,
    },
    recovery,
    stream::StreamEvent,
    turn_loop::{Budget, Expected, Request, TurnRun, defaults_of, run_turn},
};

/// Who asks.
#[derive(Clone)]
pub(crate) enum Asker {
    /// The server: a head out of the conversation's settings, an answer in prose.
    Server,
    /// A program that holds the conversation in memory.
    Program {
        /// Its head, tools and artifacts.
        instance: SharedInstance,
        /// What it wants for an answer.
        expected: Expected,
    },
}

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
    asker: Asker,
) -> Result<(Begun, TurnHandle), AskError> {
    if ask.text.trim().is_empty() && ask.parts.is_empty() {
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
    let parts = match ask_store(shared, principal, id, &running, &ask, &asker).await {
        // The place is ours, so that turn runs nowhere here. If its process died it is closed.
        Err(AskError::TurnInProgress { turn_uid }) => {
            let closed =
                recovery::close_dead_turns(shared, shared.clock.now()).await.map_err(AskError::Store)?;
            if closed == 0 {
                return Err(AskError::TurnInProgress { turn_uid });
            }
            ask_store(shared, principal, id, &running, &ask, &asker).await?
        }
        parts => parts?,
    };
    running.own(parts.asked.lease, parts.asked.turn_id);
    let handle = TurnHandle {
        turn_uid: running.turn_uid,
        question_id: parts.asked.message.id,
        reader: running.log.reader(),
        stop: StopOnDrop(Arc::clone(&running)),
    };
    Ok((Begun { run: turn_run(shared, principal, running, parts), id, place }, handle))
}

/// Checks what only the store and the queue know, then appends the question.
async fn ask_store(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
    running: &Running,
    ask: &Ask,
    asker: &Asker,
) -> Result<Parts, AskError> {
    // Read now that no other turn of this process can move the tip.
    let (row, llm) = bound(shared, principal, id).await?;
    if ask.parent_id.is_some_and(|parent_id| row.tip_id != Some(parent_id)) {
        return Err(AskError::StaleParent { tip_id: row.tip_id });
    }
    if llm.is_none() && matches!(asker, Asker::Server) {
        return Err(AskError::Unbound);
    }
    let ticket = shared.models.admit(llm.as_ref())?;
    let kept = view_of(shared, principal, &row).await?;
    let setup = Setup { shared, row: &row, llm: llm.as_ref(), ticket: &*ticket, kept: &kept, ask, asker };
    let (instance, request, rules) = prepare_turn(&setup)?;
    let question = question(&setup, running, &instance, &request);
    let head = question.head.clone();
    let asked = append(shared, principal, row.id, question).await?;
    lock_instance(&instance).asked(head);
    Ok(Parts { llm, ticket, kept, asked, instance, request, rules })
}

/// The conversation and the installed model it names, if it names one.
async fn bound(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
) -> Result<(ConversationRow, Option<LlmRow>), AskError> {
    let row = shared.store.find_conversation(principal, id).await.map_err(AskError::Store)?;
    let row = row.ok_or(AskError::NoSuchConversation)?;
    let Some(llm_id) = row.llm_id else {
        return Ok((row, None));
    };
    let llm = shared.store.find_llm(principal, llm_id).await.map_err(AskError::Store)?;
    Ok((row, Some(llm.ok_or(AskError::Unbound)?)))
}

/// The branch as the next step shows it: from memory when it is the store's version, else loaded
/// and repaired.
async fn view_of(shared: &Shared, principal: &Principal, row: &ConversationRow) -> Result<Kept, AskError> {
    if let Some(kept) = shared.kept().take(row.id, row.version) {
        return Ok(kept);
    }
    if row.tip_id.is_none() {
        return Ok(Kept { version: row.version, ..Kept::default() });
    }
    let view = shared.store.load_view(principal, row.id).await.map_err(AskError::Store)?;
    let view = view.ok_or(AskError::NoSuchConversation)?;
    let messages = mended(row.id, view.messages);
    Ok(Kept { messages, starred: view.starred, version: row.version, ..Kept::default() })
}

/// What the turn works on: the asker's instance or one of its own, and how it asks.
fn prepare_turn(turn: &Setup<'_>) -> Result<(SharedInstance, Request, Rules), AskError> {
    let Setup { shared, row, llm, ticket, kept, ask, asker } = turn;
    let spec = ticket.spec();
    let generation_config = llm.and_then(|llm| llm.generation_config.as_deref());
    let defaults = defaults_of(generation_config, spec.context_window);
    let settings = Settings {
        temperature: ask.temperature.unwrap_or(row.settings.temperature),
        top_p: ask.top_p.unwrap_or(row.settings.top_p),
        ..row.settings.clone()
    };
    let locality = ticket.locality();
    let (instance, expected, budget, rules) = match asker {
        Asker::Server => {
            let custom_prompt = ask.custom_prompt.as_deref().unwrap_or(&settings.custom_prompt);
            let instance = instance_of_server(&spec, custom_prompt, &kept.starred);
            (instance, Expected::text(), Budget::Pinned(shared.max_tokens), Rules::server(locality))
        }
        Asker::Program { instance, expected } => {
            let rules = match expected.contract {
                Contract::Text => Rules::chat(locality),
                Contract::Typed(_) => Rules::objective(locality),
            };
            let held = lock_instance(instance);
            let layers = Layers { request: ask.output, conversation: held.seat, binding: shared.seat };
            seat::resolve(&layers, &spec, held.has_tools())?;
            drop(held);
            (Arc::clone(instance), expected.clone(), Budget::Declared(layers), rules)
        }
    };
    let sampling = sampling_of(&settings, &defaults);
    let retry_pause_ms = shared.timing.retry_pause_ms;
    let request = Request {
        expected,
        sampling,
        budget,
        requires_tool: ask.requires_tool,
        retry_pause_ms,
        allowance: None,
    };
    Ok((instance, request, rules))
}

/// A fresh instance per turn: a star, a setting or a model may have changed since the last.
fn instance_of_server(spec: &ModelSpec, custom_prompt: &str, starred: &[String]) -> SharedInstance {
    let parts = ObjectiveParts { tier: Tier::of(spec.param_size), custom_prompt, starred };
    let mut instance = Instance::new();
    let put = instance.put(
        INSTRUCTIONS_SLOT,
        Block::Text(render_objective(&parts)),
        std::panic::Location::caller(),
    );
    debug_assert_eq!(put, colloquy_core::head::Put::Placed);
    Arc::new(Mutex::new(instance))
}

fn sampling_of(settings: &Settings, defaults: &SamplingDefaults) -> Sampling {
    Sampling {
        temperature: settings.temperature,
        top_p: settings.top_p,
        top_k: defaults.top_k,
        min_p: defaults.min_p,
        presence_penalty: defaults.presence_penalty,
        repetition_penalty: defaults.repetition_penalty,
        repetition_context_size: defaults.repetition_context_size,
    }
}

/// The question, behind what announces what is new, with the head if its bytes have changed.
fn question(turn: &Setup<'_>, running: &Running, instance: &SharedInstance, request: &Request) -> Question {
    let Setup { shared, row, llm: _, ticket, kept, ask, asker } = turn;
    let spec = ticket.spec();
    let mut held = lock_instance(instance);
    let (blocks, artifacts) = blocks_of(&mut held, ask, shared);
    let notation = request.notation(&spec, held.has_tools());
    let announced = held.head.reconcile(&kept.messages, notation);
    let before = (!announced.is_empty()).then(|| shared.announcement(announced));
    let head: Option<StoredHead> = match asker {
        Asker::Server => None,
        Asker::Program { .. } => {
            held.prior_model = Some(spec.id.clone());
            held.head_to_store()
        }
    };
    Question {
        blocks,
        artifacts,
        before: before.into_iter().collect(),
        head,
        ..shared.question(row, running, Some(ask))
    }
}

/// The blocks of a question and the artifacts that are new in it.
fn blocks_of(
    instance: &mut Instance,
    ask: &Ask,
    shared: &Shared,
) -> (Vec<Block>, Vec<colloquy_core::artifact::Artifact>) {
    let mut blocks: Vec<Block> = Block::text(ask.text.as_str()).into_iter().collect();
    for part in &ask.parts {
        blocks.push(match part {
            AskPart::Block(block) => block.clone(),
            AskPart::Value { type_name, value, descriptor } => {
                if instance.learn(descriptor) {
                    instance.declare_registry_tools();
                }
                let mut value = value.clone();
                let shown = instance.take_in(&mut value, Some(descriptor), shared.ids.as_ref());
                Block::Value(ValueBlock { type_name: type_name.clone(), json: value.to_string(), shown })
            }
        });
    }
    (blocks, instance.unsaved())
}

impl Shared {
    fn announcement(&self, blocks: Vec<Block>) -> NewMessage {
        NewMessage { app_authored: true, ..NewMessage::new(self.ids.uid(), 0, Kind::Announcement, blocks) }
    }
}

/// Commit (a).
async fn append(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
    question: Question,
) -> Result<AppendedQuestion, AskError> {
    let appended = shared.store.append_question(principal, id, question).await;
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

/// What a turn is set up from, before its question is durable.
struct Setup<'a> {
    shared: &'a Shared,
    row: &'a ConversationRow,
    llm: Option<&'a LlmRow>,
    ticket: &'a dyn Ticket,
    kept: &'a Kept,
    ask: &'a Ask,
    asker: &'a Asker,
}

/// What a turn is made of once its question is durable.
struct Parts {
    llm: Option<LlmRow>,
    ticket: Box<dyn Ticket>,
    kept: Kept,
    asked: AppendedQuestion,
    instance: SharedInstance,
    request: Request,
    rules: Rules,
}

fn turn_run(shared: &Arc<Shared>, principal: &Principal, running: Arc<Running>, parts: Parts) -> TurnRun {
    let Parts { llm, ticket, kept, asked, instance, request, rules } = parts;
    lock_instance(&instance).preparer = kept.preparer;
    let mut branch = kept.messages;
    branch.extend(asked.before);
    branch.push(asked.message);
    TurnRun {
        shared: Arc::clone(shared),
        principal: principal.clone(),
        running,
        llm_id: llm.map(|llm| llm.id),
        rules,
        branch,
        starred: kept.starred,
        instance,
        request,
        ticket,
    }
}
