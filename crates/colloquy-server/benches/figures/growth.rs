//! What a turn costs the store as its thread grows: time, and bytes against the text it holds.

use std::{path::Path, time::Instant};

use colloquy::ports::{
    Commit, EngineKind, EventChunk, IdSource, LlmRow, NewConversation, NewLlm, NewMessage, OsIds, Principal,
    Question, Store,
};
use colloquy::stream::StreamEvent;
use colloquy_core::{
    block::Block,
    conversation::{Effort, Settings},
    message::{ConversationId, Kind, MessageId, Uid},
    turn::Outcome,
};
use colloquy_store_sqlite::SqliteStore;
use sqlx::Connection;

use crate::table::{Table, median, ms};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const QUESTION: &str = "What did we say about the harbour, and who was to bring the ladder on Friday?";
const N_TIMED: usize = 60;

pub(crate) fn measure(table: &mut Table) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let (costs, grown) = runtime.block_on(measure_in(folder.path()));
    for (size, cost) in SIZES.iter().zip(&costs).skip(1) {
        table.ratio(
            &format!("store time of a turn at {size} messages"),
            (format!("{cost:.2} ms"), format!("{:.2} ms at 10", costs[0])),
            cost / costs[0],
            1.2,
        );
    }
    let allowed = 2 * grown.text + 1024 * grown.turns;
    table.ratio(
        "bytes stored, events swept",
        (format!("{} KB", grown.stored / 1024), format!("{} KB: 2 x text + 1 KB a turn", allowed / 1024)),
        grown.stored as f64 / allowed as f64,
        1.0,
    );
}

struct Grown {
    turns: u64,
    text: u64,
    stored: u64,
}

async fn measure_in(folder: &Path) -> (Vec<f64>, Grown) {
    let path = folder.join("colloquy.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let writer = Writer::new(&store).await;
    let mut grown = Grown { turns: 0, text: 0, stored: 0 };
    // The sizes take turns, so that a busy moment of the machine meets them all.
    let mut threads = Vec::new();
    for size in SIZES {
        let mut thread = Thread { id: writer.conversation().await, tip: None };
        for _ in 0..size / 2 {
            grown.text += writer.turn(&mut thread, &mut grown.turns).await;
        }
        threads.push(thread);
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); SIZES.len()];
    for _ in 0..N_TIMED {
        for (thread, times) in threads.iter_mut().zip(&mut times) {
            let started = Instant::now();
            grown.text += writer.turn(thread, &mut grown.turns).await;
            times.push(ms(started.elapsed()));
        }
    }
    store.sweep_events(i64::MAX).await.unwrap();
    store.close().await;
    grown.stored = used_bytes(&path).await;
    (times.iter().map(|times| median(times)).collect(), grown)
}

/// Bytes of the file's pages that are in use.
async fn used_bytes(path: &Path) -> u64 {
    let url = format!("sqlite://{}", path.display());
    let mut file = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let query = "SELECT (page_count - freelist_count) * page_size
                 FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let n_bytes: i64 = sqlx::query_scalar(query).fetch_one(&mut file).await.unwrap();
    n_bytes.unsigned_abs()
}

struct Thread {
    id: ConversationId,
    tip: Option<MessageId>,
}

struct Writer<'a> {
    store: &'a dyn Store,
    principal: Principal,
    llm: LlmRow,
}

impl<'a> Writer<'a> {
    async fn new(store: &'a SqliteStore) -> Self {
        let principal = Principal::local();
        let llm = NewLlm {
            name: "none".into(),
            engine: EngineKind::Llama { path: "/nowhere".into() },
            context_window: None,
            param_size: None,
            size_bytes: None,
            generation_config: None,
            make_default: true,
            created_at: 0,
        };
        let llm = store.insert_llm(&principal, llm).await.unwrap();
        Self { store, principal, llm }
    }

    async fn conversation(&self) -> ConversationId {
        let settings = Settings {
            temperature: 0.2,
            top_p: 0.95,
            max_tokens: 1024,
            custom_prompt: String::new(),
            web_search_enabled: false,
            reasoning_effort: Effort::Medium,
            compaction_threshold: 80,
        };
        let conversation = NewConversation {
            uid: OsIds.uid(),
            llm_id: Some(self.llm.id),
            name: "growth".into(),
            settings,
            created_at: 0,
        };
        self.store.create_conversation(&self.principal, conversation).await.unwrap().id
    }

    /// One turn as the service writes it: commit (a), one flush of events, commit (d). Gives the
    /// bytes of its text.
    async fn turn(&self, thread: &mut Thread, n_turns: &mut u64) -> u64 {
        *n_turns += 1;
        let answer = "We said that the harbour freezes in January. ".repeat(8);
        let question = Question {
            holder: Uid([1; 16]),
            lease_ms: 10_000,
            turn_uid: OsIds.uid(),
            base_id: thread.tip,
            message_uid: OsIds.uid(),
            blocks: vec![Block::Text(QUESTION.into())],
            app_authored: false,
            artifacts: Vec::new(),
            before: Vec::new(),
            head: None,
            request: colloquy::record::encode_request(None),
            llm_id: Some(self.llm.id),
            at: 1_000,
        };
        let asked = self.store.append_question(&self.principal, thread.id, question).await.unwrap();
        let events: Vec<StreamEvent> =
            answer.split_inclusive(' ').map(|word| StreamEvent::Answer(word.into())).collect();
        let last_seq = events.len() as u64 + 1;
        let chunk = EventChunk { lease: asked.lease, turn_id: asked.turn_id, first_seq: 1, events };
        self.store.append_events(vec![chunk]).await.unwrap();
        let message = NewMessage::new(OsIds.uid(), 0, Kind::Answer, vec![Block::Text(answer.clone())]);
        let commit = Commit {
            turn_id: asked.turn_id,
            parent_id: asked.message.id,
            messages: vec![message],
            outcome: Outcome::Answered,
            error: None,
            tail: Vec::new(),
            first_seq: last_seq,
            last_seq,
            at: 2_000,
        };
        let committed = self.store.commit_turn(&self.principal, &asked.lease, commit).await.unwrap();
        thread.tip = committed.messages.last().map(|message| message.id);
        (QUESTION.len() + answer.len()) as u64
    }
}
