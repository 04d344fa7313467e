//! A conversation to put into a file, and a way to look at one from outside.

use std::path::Path;

use colloquy::ports::{
    AppendedQuestion, Commit, NewConversation, NewMessage, Page, Principal, Question, Store,
};
use colloquy_core::{
    artifact::{Artifact, ArtifactRef},
    block::Block,
    conversation::{Effort, Settings},
    message::{ConversationId, Kind, Uid},
    turn::Outcome,
};
use colloquy_store_sqlite::SqliteStore;
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};

pub(crate) const NOW: i64 = 1_700_000_000_000;

pub(crate) fn uid(number: u64) -> Uid {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Uid(bytes)
}

pub(crate) async fn conversation(store: &SqliteStore, number: u64) -> ConversationId {
    let settings = Settings {
        temperature: 0.7,
        top_p: 0.95,
        max_tokens: 4096,
        custom_prompt: String::new(),
        web_search_enabled: false,
        reasoning_effort: Effort::Medium,
        compaction_threshold: 80,
    };
    let new = NewConversation {
        uid: uid(number << 32),
        llm_id: None,
        name: "New Conversation".into(),
        settings,
        created_at: NOW,
    };
    store.create_conversation(&Principal::local(), new).await.unwrap().id
}

/// Asks on the tip. `number` makes the identities.
pub(crate) async fn ask(
    store: &SqliteStore,
    id: ConversationId,
    number: u64,
    text: &str,
) -> AppendedQuestion {
    let question = question(store, id, number, text).await;
    store.append_question(&Principal::local(), id, question).await.unwrap()
}

/// A question for the tip. `number` makes the identities.
pub(crate) async fn question(store: &SqliteStore, id: ConversationId, number: u64, text: &str) -> Question {
    let row = store.find_conversation(&Principal::local(), id).await.unwrap().unwrap();
    let number = (id.0 as u64) << 32 | number << 2;
    Question {
        holder: uid(1),
        lease_ms: 10_000,
        turn_uid: uid(number),
        base_id: row.tip_id,
        message_uid: uid(number),
        blocks: vec![Block::Text(text.into())],
        app_authored: false,
        artifacts: Vec::new(),
        before: Vec::new(),
        head: None,
        request: colloquy::record::encode_request(None),
        llm_id: None,
        at: NOW,
    }
}

/// A message of the first step of a turn.
pub(crate) fn message(uid: Uid, kind: Kind, block: Block) -> NewMessage {
    NewMessage::new(uid, 0, kind, vec![block])
}

/// A listed artifact of that content.
pub(crate) fn artifact(id: &str, json: &str) -> Artifact {
    Artifact {
        reference: ArtifactRef::of("note", id).unwrap(),
        alias: "note".into(),
        json: json.into(),
        summaries: Default::default(),
        top_level: true,
    }
}

pub(crate) fn answer_to(asked: &AppendedQuestion, text: &str) -> Commit {
    let mut answer_uid = asked.message.uid;
    answer_uid.0[15] += 1;
    let answer = message(answer_uid, Kind::Answer, Block::Text(text.into()));
    Commit {
        turn_id: asked.turn_id,
        parent_id: asked.message.id,
        messages: vec![answer],
        outcome: Outcome::Answered,
        error: None,
        tail: Vec::new(),
        first_seq: 1,
        last_seq: 1,
        at: NOW,
    }
}

pub(crate) async fn turn(store: &SqliteStore, id: ConversationId, number: u64, asked: &str, answer: &str) {
    let question = ask(store, id, number, asked).await;
    store.commit_turn(&Principal::local(), &question.lease, answer_to(&question, answer)).await.unwrap();
}

pub(crate) async fn texts(store: &SqliteStore, id: ConversationId) -> Vec<String> {
    let list = store.list_messages(&Principal::local(), id, Page::default()).await.unwrap().unwrap();
    list.iter().map(|stored| stored.message.text()).collect()
}

/// A connection that knows nothing of Colloquy.
pub(crate) async fn outsider(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).foreign_keys(false).connect().await.unwrap()
}

/// The bytes of the file and its log.
pub(crate) fn bytes_on_disk(path: &Path) -> Vec<u8> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let mut bytes = std::fs::read(path).unwrap();
    bytes.extend(std::fs::read(log).unwrap_or_default());
    bytes
}
