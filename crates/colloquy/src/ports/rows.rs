//! What a store is handed and gives back: rows, commits, and what they are made of (design § 3).

use colloquy_core::{
    artifact::Artifact,
    block::Block,
    conversation::{Settings, SettingsChange},
    message::{
        ConversationId, FinishReason, Kind, LlmId, Message, MessageId, Origin, TimeMs, TurnId, Uid, Usage,
    },
    objective::Objective,
    seat::Seat,
    tool::ToolDefinition,
    turn::Outcome,
};

use crate::stream::{StreamError, StreamEvent};

/// On whose behalf a call is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(pub String);

impl Principal {
    /// The one principal of a program that serves a single person.
    pub fn local() -> Self {
        Self("local".into())
    }
}

/// The right to write to one conversation, until somebody with a higher fence takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The conversation it covers.
    pub conversation_id: ConversationId,
    /// The process that holds it.
    pub holder: Uid,
    /// Grows with every change of hands and outlives the holder.
    pub fence: i64,
}

/// Where an installed model runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineKind {
    /// A GGUF file, run by a `llama-server` child.
    Llama {
        /// Absolute path of the weights.
        path: String,
    },
    /// An OpenAI-compatible server.
    OpenAi {
        /// Ends where `/chat/completions` is appended.
        base_url: String,
        /// The model's name there.
        model: String,
        /// The environment variable that holds the key.
        api_key_env: Option<String>,
    },
}

/// An installed model.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmRow {
    /// Its identifier.
    pub id: LlmId,
    /// What people call it; unique.
    pub name: String,
    /// Where it runs.
    pub engine: EngineKind,
    /// The window it was trained with or that was declared for it, in tokens.
    pub context_window: Option<u32>,
    /// Parameters in billions.
    pub param_size: Option<f64>,
    /// Size of the weights in bytes.
    pub size_bytes: Option<u64>,
    /// The sampling defaults its author wrote down, as JSON text of a `generation_config` object.
    pub generation_config: Option<String>,
    /// Whether new conversations use it when they name none.
    pub is_default: bool,
    /// When it was installed.
    pub created_at: TimeMs,
}

/// A model to install.
#[derive(Debug, Clone, PartialEq)]
pub struct NewLlm {
    /// See [`LlmRow::name`].
    pub name: String,
    /// See [`LlmRow::engine`].
    pub engine: EngineKind,
    /// See [`LlmRow::context_window`].
    pub context_window: Option<u32>,
    /// See [`LlmRow::param_size`].
    pub param_size: Option<f64>,
    /// See [`LlmRow::size_bytes`].
    pub size_bytes: Option<u64>,
    /// See [`LlmRow::generation_config`].
    pub generation_config: Option<String>,
    /// Becomes the default, and so does the first model of all.
    pub make_default: bool,
    /// When it is installed.
    pub created_at: TimeMs,
}

/// A conversation without its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// Its identifier.
    pub id: ConversationId,
    /// Its portable identifier.
    pub uid: Uid,
    /// The model it is bound to; `None` after that model was deleted.
    pub llm_id: Option<LlmId>,
    /// What people call it.
    pub name: String,
    /// What it owns.
    pub settings: Settings,
    /// The last message of the branch that is shown.
    pub tip_id: Option<MessageId>,
    /// Grows with every change of tip or overlays.
    pub version: i64,
    /// When it was created.
    pub created_at: TimeMs,
    /// When its last message was committed; starts as `created_at`.
    pub last_message_at: TimeMs,
}

/// A conversation to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewConversation {
    /// Its portable identifier.
    pub uid: Uid,
    /// The model it is bound to.
    pub llm_id: Option<LlmId>,
    /// What people call it.
    pub name: String,
    /// What it owns.
    pub settings: Settings,
    /// When it is created.
    pub created_at: TimeMs,
}

/// A change of a conversation; `None` leaves a field as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConversationPatch {
    /// The new name.
    pub name: Option<String>,
    /// The new model.
    pub llm_id: Option<LlmId>,
    /// The settings that change, checked.
    pub settings: SettingsChange,
}

/// A page of a list: at most `limit` rows, only those with an id below `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// At most that many rows; `None` for all.
    pub limit: Option<u32>,
    /// Only rows with a smaller id.
    pub before: Option<i64>,
}

/// A message and what surrounds it, as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// The message.
    pub message: Message,
    /// Whether it is starred.
    pub starred: bool,
    /// The identity of its turn.
    pub turn_uid: Uid,
    /// How its turn ended; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// The error of its turn.
    pub error: Option<StreamError>,
    /// Every message with the same parent, itself included, oldest first.
    pub siblings: Vec<MessageId>,
}

/// A branch as the next step shows it to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// From the first message to the tip, redacted turns left out.
    pub messages: Vec<Message>,
    /// The texts of the conversation's starred messages on this branch, oldest first.
    pub starred: Vec<String>,
}

/// A question to append: commit (a). Takes the lease in the same transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The process that will own the conversation.
    pub holder: Uid,
    /// How long the lease holds without a heartbeat, in milliseconds.
    pub lease_ms: i64,
    /// The identity of the turn.
    pub turn_uid: Uid,
    /// The tip it is asked on; `None` for a first question.
    pub base_id: Option<MessageId>,
    /// The identity of the question's message.
    pub message_uid: Uid,
    /// What is asked.
    pub blocks: Vec<Block>,
    /// Whether the program rather than a person asks it; lists leave such a row out.
    pub app_authored: bool,
    /// Artifacts that it holds or that the program handed in, in the order of their registration.
    pub artifacts: Vec<Artifact>,
    /// What stands in front of it, in order: announcements of late tools and legends.
    pub before: Vec<NewMessage>,
    /// The conversation's head, where its bytes have changed.
    pub head: Option<StoredHead>,
    /// The request as [`crate::record`] writes it.
    pub request: String,
    /// The model that answers.
    pub llm_id: Option<LlmId>,
    /// Now.
    pub at: TimeMs,
}

/// A question that is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendedQuestion {
    /// Covers the turn.
    pub lease: Lease,
    /// The turn.
    pub turn_id: TurnId,
    /// What stands in front of the question.
    pub before: Vec<Message>,
    /// The question's message.
    pub message: Message,
    /// The conversation's version after it.
    pub version: i64,
}

/// The head of a conversation as it is stored; its freeze never is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredHead {
    /// Slots with their keys, in order.
    pub objective: Objective,
    /// Every declared tool, in the order of declaration.
    pub palette: Vec<ToolDefinition>,
    /// What the conversation's seat declared last.
    pub seat: Seat,
    /// The model that served last, by its name in the catalog.
    pub prior_model: Option<String>,
    /// Whether providers with explicit cache control cache the system content.
    pub cache_system: bool,
}

/// A message to append. Parent and depth follow from the order: the first one's parent is
/// [`Commit::parent_id`], each other's is the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Its identity.
    pub uid: Uid,
    /// The step of its turn.
    pub step: u32,
    /// What it is for.
    pub kind: Kind,
    /// Whether Colloquy or the program wrote it.
    pub app_authored: bool,
    /// Its content.
    pub blocks: Vec<Block>,
    /// Which model wrote it.
    pub origin: Option<Origin>,
    /// What its step cost.
    pub usage: Option<Usage>,
    /// Why its step ended.
    pub finish_reason: Option<FinishReason>,
    /// Whether a compaction may replace it.
    pub compactable: bool,
    /// The message of the turn's inbox that it delivers, in the same transaction.
    pub inbox_ordinal: Option<u32>,
}

impl NewMessage {
    /// A person's or a tool's message, or one that says nothing of the model that wrote it.
    pub fn new(uid: Uid, step: u32, kind: Kind, blocks: Vec<Block>) -> Self {
        Self {
            uid,
            step,
            kind,
            app_authored: false,
            blocks,
            origin: None,
            usage: None,
            finish_reason: None,
            compactable: true,
            inbox_ordinal: None,
        }
    }
}

/// Messages of a running turn to append: commits (b) and (c). One transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCommit {
    /// The turn.
    pub turn_id: TurnId,
    /// The message that the first of `messages` follows.
    pub parent_id: MessageId,
    /// In order; at least one.
    pub messages: Vec<NewMessage>,
    /// Now.
    pub at: TimeMs,
}

/// A message that a running turn accepted and has not delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    /// Its place, from 0, unique in its turn.
    pub ordinal: u32,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// The end of a turn: commit (d). One transaction, which also gives the lease back.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The turn.
    pub turn_id: TurnId,
    /// The message that the first of `messages` follows.
    pub parent_id: MessageId,
    /// Closing results and the answer, in order; may be empty.
    pub messages: Vec<NewMessage>,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong.
    pub error: Option<StreamError>,
    /// Events that are not known to be on disk yet, consecutive from `first_seq`; may be empty.
    /// Written in the same transaction, by the rule of [`super::Store::append_events`].
    pub tail: Vec<StreamEvent>,
    /// The `seq` of the first event of `tail`.
    pub first_seq: u64,
    /// The `seq` of its last event, `done` included.
    pub last_seq: u64,
    /// Now.
    pub at: TimeMs,
}

/// A committed end.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// The appended messages with their identifiers.
    pub messages: Vec<Message>,
    /// The conversation's version after it.
    pub version: i64,
}

/// Events of one running turn that are not on disk yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EventChunk {
    /// Covers the turn.
    pub lease: Lease,
    /// The turn.
    pub turn_id: TurnId,
    /// The `seq` of the first event.
    pub first_seq: u64,
    /// Consecutive events.
    pub events: Vec<StreamEvent>,
}

/// Where a turn stands in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// Waits for an owner.
    Queued,
    /// Runs, or ran when its process died.
    Running,
    /// Ended.
    Over,
}

/// A turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// Its identifier.
    pub id: TurnId,
    /// Its identity, sent as `X-Turn-ID`.
    pub uid: Uid,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Its question.
    pub question_id: Option<MessageId>,
    /// Where it stands.
    pub state: TurnState,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What went wrong.
    pub error: Option<StreamError>,
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// When it was accepted.
    pub created_at: TimeMs,
    /// When it ended.
    pub ended_at: Option<TimeMs>,
}

/// On what condition a lease is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Whoever holds it.
    ByForce,
    /// Only while the turn is open and its lease is as it was seen.
    IfStill {
        /// The turn.
        turn_id: TurnId,
        /// The fence that was seen; 0 for no lease.
        fence: i64,
        /// The expiry that was seen; 0 for no lease.
        expires_at: TimeMs,
    },
}

/// A turn whose process died, with what is needed to close it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenTurn {
    /// Whose it is.
    pub principal: Principal,
    /// The turn.
    pub turn: TurnRow,
    /// Takes the lease unless somebody else closes the turn, or comes back to life.
    pub take: Take,
    /// The model that was answering.
    pub llm_id: Option<LlmId>,
    /// The branch it was writing to, first message to tip.
    pub messages: Vec<Message>,
    /// Its tool runs, in order of step and call.
    pub tool_runs: Vec<ToolRun>,
    /// What it accepted and had not delivered, in order.
    pub inbox: Vec<InboxMessage>,
    /// Its flushed events, in order. Those that are never stored are missing.
    pub events: Vec<StreamEvent>,
}

/// Where a tool run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolRunState {
    /// Started, no result yet.
    Started,
    /// Its result is known.
    Finished,
    /// Its process died before it ended.
    Interrupted,
}

/// One run of a tool, written before it starts and the moment it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRun {
    /// The turn.
    pub turn_id: TurnId,
    /// The step of the turn.
    pub step: u32,
    /// The call it answers.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as JSON text.
    pub input: String,
    /// Where it stands.
    pub state: ToolRunState,
    /// What it returned.
    pub result: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// When it started.
    pub started_at: TimeMs,
    /// When it ended.
    pub finished_at: Option<TimeMs>,
}
