//! A conversation as a program holds it: its objective, its tools, and asking.
//!
//! A handle is one instance: its head is frozen at its first render and lives as long as the
//! handle. Every operation acts for the principal the handle was made for (I12).

use std::{
    marker::PhantomData,
    panic::Location,
    sync::{Arc, Mutex},
};

use colloquy_core::{
    artifact::{ArtifactRef, Types},
    block::{Block, Skill},
    contract::Contract,
    head::Put,
    message::{ConversationId, MessageId, Uid, Usage},
    seat::Seat,
    transcript,
    turn::Outcome,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::{
    Accepted, Ask, AskError, Asker, Colloquy, Instance, Running, ServiceError, SharedInstance, SteerError,
    TurnHandle, lock_instance, mended, running::InboxPlace,
};
use crate::{
    artifact::{Artifact, ArtifactTypes, Held},
    ports::{InboxMessage, Principal, StoreError},
    stream::{Done, StreamError, StreamEvent},
    tool::{DescribeError, Erased, Tool, describe, kind_of},
    turn_loop::Expected,
};

/// One conversation. Cheap to clone; clones are the same instance.
#[derive(Clone)]
pub struct Conversation {
    colloquy: Colloquy,
    principal: Principal,
    /// Set when it is created in the store: at its first question, or when it was adopted.
    id: Arc<OnceCell<ConversationId>>,
    instance: SharedInstance,
    /// Removes a temporary conversation with its last handle.
    _temporary: Option<Arc<Forget>>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// What was asked for.
    pub value: T,
    /// Why, in the model's words; often empty.
    pub reasoning: String,
    /// The turn that gave it.
    pub turn_uid: Uid,
    /// Its message.
    pub message_id: Option<MessageId>,
    /// What its last call cost, in tokens.
    pub usage: Usage,
    /// The artifacts that it names, in the order it names them.
    pub artifacts: Vec<ArtifactRef>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The turn was not started; nothing was stored.
    #[error(transparent)]
    NotStarted(#[from] AskError),
    /// The type of the answer cannot be described to a model.
    #[error(transparent)]
    Undescribed(#[from] DescribeError),
    /// The turn failed. What was said is stored.
    #[error("{}", .0.text)]
    Failed(StreamError),
    /// The answer reached its size limit, also at the model's ceiling. What there is of it is stored.
    #[error("the answer was cut at its size limit; ask for less, or declare a larger output")]
    Truncated,
    /// The model gave no answer.
    #[error("the model ended without an answer; ask again, or differently")]
    NoAnswer,
    /// Somebody stopped the turn.
    #[error("the turn was stopped")]
    Stopped,
    /// Its process gave it up; another owner has the conversation, or the store failed.
    #[error("the turn was interrupted")]
    Interrupted,
}

/// An answer on its way, piece by piece. Dropping it stops the turn.
pub struct Answering<T> {
    turn: TurnHandle,
    done: Option<Done>,
    error: Option<StreamError>,
    answer: PhantomData<fn() -> T>,
}

/// The objective of a conversation: named slots that are its system text.
pub struct Objective<'a> {
    instance: &'a SharedInstance,
}

impl Colloquy {
    /// A new durable conversation. It is created in the store with its first question.
    pub fn mint(&self, principal: &Principal) -> Conversation {
        self.handle(principal, OnceCell::new(), self.fresh())
    }

    /// A conversation that the store holds. Its head is free until its own first render, and its
    /// seat is the one declared now, not the stored one.
    pub async fn adopt(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Conversation, ServiceError> {
        let store = self.store();
        if store.find_conversation(principal, id).await?.is_none() {
            return Err(ServiceError::NoSuchConversation);
        }
        let head = store.load_head(principal, id).await?;
        let artifacts = store.load_artifacts(principal, id).await?;
        let (artifacts, types) = match &self.shared.artifacts {
            Some(types) => (types.admit(artifacts), types.descriptors()),
            None => (artifacts, Types::default()),
        };
        let mut instance = Instance::restored(head, artifacts, types);
        if instance.registry.n_listed() > 0 {
            instance.declare_registry_tools();
        }
        Ok(self.handle(principal, OnceCell::new_with(Some(id)), instance))
    }

    /// A conversation that no store ever sees and that ends with its last handle.
    pub fn temporary(&self, principal: &Principal) -> Conversation {
        let beside = self.beside();
        let conversation = beside.handle(principal, OnceCell::new(), self.fresh());
        let forget = Forget {
            colloquy: beside.clone(),
            principal: principal.clone(),
            id: Arc::clone(&conversation.id),
        };
        Conversation { _temporary: Some(Arc::new(forget)), ..conversation }
    }

    fn fresh(&self) -> Instance {
        let types = self.shared.artifacts.as_ref().map(ArtifactTypes::descriptors).unwrap_or_default();
        Instance::knowing(types)
    }

    fn handle(
        &self,
        principal: &Principal,
        id: OnceCell<ConversationId>,
        instance: Instance,
    ) -> Conversation {
        Conversation {
            colloquy: self.clone(),
            principal: principal.clone(),
            id: Arc::new(id),
            instance: Arc::new(Mutex::new(instance)),
            _temporary: None,
        }
    }
}

impl Conversation {
    /// Its identifier; `None` before its first question.
    pub fn id(&self) -> Option<ConversationId> {
        self.id.get().copied()
    }

    /// Its objective.
    pub fn objective(&self) -> Objective<'_> {
        Objective { instance: &self.instance }
    }

    /// Declares a tool; whether its name was free. What is declared is never redefined or removed,
    /// so declaring from anywhere is safe. Fails where the tool's types cannot be described.
    pub fn declare(&self, tool: impl Tool) -> Result<bool, DescribeError> {
        let tool = Arc::new(Erased::new(tool)?);
        Ok(lock_instance(&self.instance).declare(tool))
    }

    /// Declares what its seat needs of a model.
    pub fn declare_seat(&self, seat: Seat) {
        lock_instance(&self.instance).seat = seat;
    }

    /// Whether providers with explicit cache control cache its system content; they do unless said.
    pub fn cache_objective(&self, cached: bool) {
        lock_instance(&self.instance).cache_system = cached;
    }

    /// The model that served it last, by its name in the catalog, also after a restart.
    pub fn prior_model(&self) -> Option<String> {
        lock_instance(&self.instance).prior_model.clone()
    }

    /// The artifact behind a reference in any form, in its own bytes; `None` when there is none or
    /// it is of another type.
    pub fn artifact<T: Artifact>(&self, reference: &str) -> Option<Held<T>> {
        lock_instance(&self.instance).artifact(reference)
    }

    /// The references of all artifacts that are listed, in the order of registration.
    pub fn artifacts(&self) -> Vec<ArtifactRef> {
        lock_instance(&self.instance).registry.listed().map(|held| held.reference.clone()).collect()
    }

    /// Asks and waits for the answer in prose.
    pub async fn ask(&self, ask: impl Into<Ask>) -> Result<Answer<String>, ConversationError> {
        self.stream(ask).await?.answer().await
    }

    /// Asks for a value of a type and waits for it. An answer that does not fit the type goes back
    /// to the model, at most twice.
    pub async fn ask_as<T>(&self, ask: impl Into<Ask>) -> Result<Answer<T>, ConversationError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.stream_as::<T>(ask).await?.answer().await
    }

    /// Asks for an answer in prose and gives it as it comes.
    pub async fn stream(&self, ask: impl Into<Ask>) -> Result<Answering<String>, ConversationError> {
        self.start(ask.into(), Expected::text()).await
    }

    /// Asks for a value of a type; what is streamed before it are tool calls and reasoning.
    pub async fn stream_as<T>(&self, ask: impl Into<Ask>) -> Result<Answering<T>, ConversationError>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let descriptor = describe::<T>()?;
        lock_instance(&self.instance).learn(&descriptor);
        let check = |answer: &Value| {
            T::deserialize(answer).map(|_| ()).map_err(|error| format!("answer: {}", kind_of(&error)))
        };
        self.start(ask.into(), Expected { contract: Contract::Typed(descriptor), check }).await
    }

    /// Hands a message to the turn that runs: the model reads it after the step at hand, or after
    /// its answer. Durable when this returns.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), SteerError> {
        let block = Block::text(text.into()).ok_or(SteerError::Blank)?;
        let running = self.running().ok_or(SteerError::NoTurn)?;
        let place = InboxPlace::reserve(&running)?;
        let (colloquy, principal) = (self.colloquy.clone(), self.principal.clone());
        // In a task of its own: a caller who goes away leaves either nothing or a delivered message.
        let accepting = self.colloquy.shared.tasks.spawn(async move {
            let (lease, turn_id) = running.owned();
            let blocks = vec![block];
            let store = colloquy.store();
            let ordinal = store.accept_steer(&principal, &lease, turn_id, blocks.clone()).await?;
            place.fill(InboxMessage { ordinal, blocks });
            Ok(())
        });
        accepting.await.map_err(|panicked| StoreError::Unavailable(Box::new(panicked)))?
    }

    /// Stops the turn that runs, if one does, and waits until it is closed.
    pub async fn stop(&self) -> Result<(), ServiceError> {
        match self.id() {
            Some(id) => self.colloquy.stop(&self.principal, id).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// The conversation for a reader other than its model.
    pub async fn transcript(&self) -> Result<String, ServiceError> {
        let Some(id) = self.id() else {
            return Ok(String::new());
        };
        let view = self.colloquy.store().load_view(&self.principal, id).await?;
        let messages = mended(id, view.ok_or(ServiceError::NoSuchConversation)?.messages);
        Ok(transcript::render(&messages))
    }

    async fn start<T>(&self, ask: Ask, expected: Expected) -> Result<Answering<T>, ConversationError> {
        let id = self.created().await?;
        let instance = Arc::clone(&self.instance);
        let asker = Asker::Program { instance, expected };
        let turn = self.colloquy.start(&self.principal, id, ask, asker).await?;
        Ok(Answering { turn, done: None, error: None, answer: PhantomData })
    }

    /// Creates it in the store, once.
    async fn created(&self) -> Result<ConversationId, ConversationError> {
        let creating = self.id.get_or_try_init(|| async {
            let created = self.colloquy.create_for_program(&self.principal).await;
            created.map(|row| row.id)
        });
        Ok(*creating.await.map_err(AskError::Store)?)
    }

    fn running(&self) -> Option<Arc<Running>> {
        self.colloquy.shared.running.find(self.id()?).filter(|running| running.is_durable())
    }
}

impl Objective<'_> {
    /// Puts a text into a slot, in place where the slot is there already. Blank text is ignored.
    #[track_caller]
    pub fn put(&self, key: &str, text: impl Into<String>) -> Put {
        lock_instance(self.instance).put(key, Block::Text(text.into()), Location::caller())
    }

    /// Empties it. What is derived from tools and contracts comes back with the next render.
    #[track_caller]
    pub fn nuke(&self) -> Put {
        lock_instance(self.instance).nuke(Location::caller())
    }

    /// Admits a skill, once per name.
    pub fn admit(&self, skill: Skill) -> Put {
        lock_instance(self.instance).head.admit(skill)
    }

    /// Whether a slot is there.
    pub fn has(&self, key: &str) -> bool {
        lock_instance(self.instance).head.objective().find(key).is_some()
    }
}

impl<T> Answering<T> {
    /// The next event with its number; `None` after [`StreamEvent::Done`].
    pub async fn next(&mut self) -> Option<(u64, StreamEvent)> {
        let next = self.turn.reader.next().await;
        match &next {
            Some((_, StreamEvent::Error(error))) => self.error = Some(error.clone()),
            Some((_, StreamEvent::Done(done))) => self.done = Some(done.clone()),
            Some(_) | None => {}
        }
        next
    }

    /// The identity of the turn.
    pub fn turn_uid(&self) -> Uid {
        self.turn.turn_uid
    }
}

impl<T: DeserializeOwned> Answering<T> {
    /// Waits for the whole answer.
    pub async fn answer(mut self) -> Result<Answer<T>, ConversationError> {
        while self.done.is_none() {
            if self.next().await.is_none() {
                break;
            }
        }
        let Some(done) = self.done.take() else {
            return Err(ConversationError::Interrupted);
        };
        match (done.outcome, self.turn.stop.0.accepted()) {
            (Outcome::Answered, Some(accepted)) => answer(accepted, done),
            (Outcome::Truncated, _) => Err(ConversationError::Truncated),
            (Outcome::Answered | Outcome::NoAnswer, _) => Err(ConversationError::NoAnswer),
            (Outcome::Stopped, _) => Err(ConversationError::Stopped),
            (Outcome::Interrupted, _) => Err(ConversationError::Interrupted),
            (Outcome::Failed(code), _) => {
                let unnamed = || StreamError { code: code.name().into(), text: String::new(), raw: None };
                Err(ConversationError::Failed(self.error.take().unwrap_or_else(unnamed)))
            }
        }
    }
}

fn answer<T: DeserializeOwned>(accepted: &Accepted, done: Done) -> Result<Answer<T>, ConversationError> {
    let Accepted { answer, reasoning } = accepted;
    let said = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    let value = T::deserialize(answer).expect("BUG: an answer was accepted that its type does not take");
    Ok(Answer {
        value,
        reasoning: reasoning.clone(),
        turn_uid: done.turn_uid,
        message_id: done.message_id,
        usage: done.usage,
        artifacts: ArtifactRef::mentioned_in(&said),
    })
}

/// Removes a temporary conversation from memory.
struct Forget {
    colloquy: Colloquy,
    principal: Principal,
    id: Arc<OnceCell<ConversationId>>,
}

impl Drop for Forget {
    fn drop(&mut self) {
        let Some(id) = self.id.get().copied() else { return };
        let (colloquy, principal) = (self.colloquy.clone(), self.principal.clone());
        let tasks = self.colloquy.shared.tasks.clone();
        // Outside a runtime the program is ending, and the memory with it.
        if tokio::runtime::Handle::try_current().is_ok() {
            tasks.spawn(async move {
                if let Err(error) = colloquy.delete(&principal, id).await {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "a temporary conversation was gone"
                    );
                }
            });
        }
    }
}

impl From<colloquy_core::inbox::NotAccepted> for SteerError {
    fn from(refused: colloquy_core::inbox::NotAccepted) -> Self {
        match refused {
            colloquy_core::inbox::NotAccepted::Closed => Self::NoTurn,
            colloquy_core::inbox::NotAccepted::Full => Self::Full,
        }
    }
}
