//! What every store must do, as tests that any implementation of [`Store`] can run.
//!
//! [`store_suite!`](crate::store_suite!) makes one test per case. A case gets a fresh, empty store
//! and knows nothing of it but the port.
#![expect(clippy::unwrap_used, reason = "these are tests: a call that fails fails the case")]

pub mod artifacts;
pub mod blocks;
pub mod contention;
pub mod conversations;
pub mod deletion;
pub mod events;
pub mod fences;
pub mod heads;
pub mod inbox;
pub mod llms;
pub mod principals;
pub mod programs;
pub mod recovery;
pub mod steps;
pub mod turns;

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use colloquy::ports::{
    AppendedQuestion, Commit, Committed, ConversationRow, Lease, NewConversation, NewMessage, OpenTurn, Page,
    Principal, Question, StepCommit, Store, StoreError, StoredMessage, View,
};
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    conversation::{Effort, Settings},
    message::{ConversationId, FinishReason, Kind, Message, MessageId, TimeMs, TurnId, Uid, Usage},
    turn::Outcome,
};

/// A fresh store, and whatever has to live as long as it does.
pub struct Fixture {
    /// The store.
    pub store: Arc<dyn Store>,
    /// A folder or a server that is removed afterwards.
    pub keep: Box<dyn Any + Send>,
}

/// Makes one test per case of the suite; `$open` is an `async fn() -> Fixture`.
#[macro_export]
macro_rules! store_suite {
    ($open:path) => {
        $crate::store_suite!(@cases $open, llms:
            a_model_is_found_as_it_was_installed
            a_taken_name_is_refused_and_changes_nothing
            the_first_model_is_the_default_and_a_later_one_only_when_asked
            deleting_the_default_promotes_the_newest_and_unbinds_conversations
            models_are_listed_newest_first_in_pages
        );
        $crate::store_suite!(@cases $open, conversations:
            a_new_conversation_is_found_as_it_was_created
            a_patch_changes_only_what_it_names
            conversations_are_listed_newest_first_in_pages
            an_unknown_conversation_is_absent_everywhere
        );
        $crate::store_suite!(@cases $open, turns:
            a_turn_is_stored_commit_by_commit
            a_question_on_an_old_tip_is_refused
            a_second_question_is_refused_while_a_turn_runs
            a_commit_that_adds_no_message_still_ends_the_turn
            every_outcome_comes_back
            any_text_comes_back_unchanged
            messages_are_listed_oldest_first_in_pages_from_the_newest
            a_star_is_idempotent_and_reaches_the_view
            a_branch_of_ten_thousand_messages_is_read_and_extended
        );
        $crate::store_suite!(@cases $open, steps:
            tool_steps_stand_between_the_question_and_the_answer
            messages_of_one_step_are_appended_together_or_not_at_all
            a_step_below_anything_but_the_tip_is_refused
            announcements_stand_in_front_of_their_question
            what_the_program_said_is_seen_by_the_model_and_not_listed
            what_compaction_must_keep_is_marked_for_good
        );
        $crate::store_suite!(@cases $open, blocks:
            every_block_comes_back_equal
            identifiers_of_calls_and_results_come_back_as_they_were
            i4_a_result_without_its_call_is_stored_and_left_out_of_the_view
            a_picture_of_a_megabyte_comes_back_byte_for_byte
        );
        $crate::store_suite!(@cases $open, heads:
            a_head_comes_back_with_its_keys_in_order_and_a_slot_is_refreshed_in_place
            a_head_is_rewritten_only_when_one_is_given
            a_question_that_is_refused_leaves_head_and_artifacts_as_they_were
        );
        $crate::store_suite!(@cases $open, inbox:
            what_was_accepted_waits_in_order_until_a_message_delivers_it
            a_delivery_and_its_message_are_one_transaction
            a_message_is_delivered_once
            an_ended_turn_accepts_nothing
        );
        $crate::store_suite!(@cases $open, artifacts:
            artifacts_come_back_in_the_order_of_their_registration
            i11_the_bytes_of_an_artifact_come_back_as_they_were
            i11_other_bytes_under_a_known_reference_are_refused
            an_artifact_is_stored_with_the_result_that_names_it
            what_a_conversation_learns_of_an_artifact_replaces_what_it_knew
            conversations_share_bytes_and_deleting_one_leaves_the_other
            one_reference_may_stand_for_different_bytes_in_two_conversations
        );
        $crate::store_suite!(@cases $open, fences:
            i7_every_fenced_write_of_a_stale_owner_is_refused
            another_holder_waits_until_the_lease_has_expired
            the_fence_grows_with_every_turn_of_the_same_holder
            a_committed_turn_gives_its_lease_back_and_takes_no_more_writes
            a_lease_covers_only_the_turns_of_its_conversation
            renewing_reports_the_leases_that_are_lost
        );
        $crate::store_suite!(@cases $open, principals:
            i12_nothing_of_another_principal_can_be_seen
            i12_nothing_of_another_principal_can_be_changed
        );
        $crate::store_suite!(@cases $open, deletion:
            a_deleted_conversation_takes_no_late_write
            identifiers_are_never_used_again
            deleting_one_conversation_leaves_the_others
        );
        $crate::store_suite!(@cases $open, events:
            the_longer_of_two_chunks_with_the_same_number_stays
            the_tail_of_a_commit_is_stored_with_it
            a_stale_chunk_does_not_keep_the_others_out
            events_of_ended_turns_are_swept_after_their_time
        );
        $crate::store_suite!(@cases $open, recovery:
            a_dead_turn_comes_with_all_that_closing_it_needs
            a_turn_whose_lease_holds_is_not_dead
            a_dead_turn_is_closed_by_who_takes_its_lease
            a_lease_is_taken_only_as_it_was_seen
            a_tool_run_that_has_ended_is_not_started_again
        );
        $crate::store_suite!(@cases $open, contention:
            sixteen_writers_have_one_owner_at_a_time
            many_conversations_are_written_at_once
        );

        #[test]
        fn random_programs_keep_the_invariants() {
            $crate::store_suite::programs::random_programs_keep_the_invariants($open);
        }
    };
    (@cases $open:path, $module:ident: $($case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                let fixture = $open().await;
                $crate::store_suite::$module::$case(&fixture.store).await;
            }
        )*
    };
}

/// The time at which most cases happen.
const NOW: TimeMs = 1_700_000_000_000;

/// How long a lease holds in the cases.
const LEASE_MS: i64 = 10_000;

/// An identity that no other call in this process returns.
fn fresh_uid() -> Uid {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    Uid(bytes)
}

fn principal(name: &str) -> Principal {
    Principal(name.into())
}

fn settings() -> Settings {
    Settings {
        temperature: 0.7,
        top_p: 0.95,
        max_tokens: 4096,
        custom_prompt: "In short.".into(),
        web_search_enabled: true,
        reasoning_effort: Effort::High,
        compaction_threshold: 80,
    }
}

fn text(text: &str) -> Vec<Block> {
    vec![Block::Text(text.into())]
}

fn message(kind: Kind, blocks: Vec<Block>) -> NewMessage {
    let by_model = matches!(kind, Kind::Call | Kind::Answer);
    NewMessage {
        app_authored: matches!(kind, Kind::Closing | Kind::Announcement),
        usage: by_model.then(|| Usage { output_tokens: Some(3), ..Usage::default() }),
        finish_reason: by_model.then_some(FinishReason::Stop),
        ..NewMessage::new(fresh_uid(), 0, kind, blocks)
    }
}

/// A call of the tool `clock`, its arguments as a model may write them.
fn call() -> NewMessage {
    let call = ToolCall { id: "c1".into(), name: "clock".into(), input: "{\"zone\": \"UTC\"}".into() };
    NewMessage {
        finish_reason: Some(FinishReason::ToolCalls),
        ..message(Kind::Call, vec![Block::reasoning("the time?"), Block::ToolCall(call)])
    }
}

/// The result of [`call`].
fn results() -> NewMessage {
    let result = ToolResult { call_id: "c1".into(), text: "noon".into(), is_error: false };
    message(Kind::Results, vec![Block::ToolResult(result)])
}

/// One conversation as one principal sees it, spoken to by one process.
struct Chat<'a> {
    store: &'a dyn Store,
    who: Principal,
    holder: Uid,
    id: ConversationId,
}

impl<'a> Chat<'a> {
    async fn new(store: &'a Arc<dyn Store>) -> Self {
        Self::of(store, principal("local")).await
    }

    async fn of(store: &'a Arc<dyn Store>, who: Principal) -> Self {
        let new = NewConversation {
            uid: fresh_uid(),
            llm_id: None,
            name: "New Conversation".into(),
            settings: settings(),
            created_at: NOW,
        };
        let row = store.create_conversation(&who, new).await.unwrap();
        Self { store: store.as_ref(), who, holder: fresh_uid(), id: row.id }
    }

    async fn row(&self) -> ConversationRow {
        self.store.find_conversation(&self.who, self.id).await.unwrap().unwrap()
    }

    async fn tip(&self) -> Option<MessageId> {
        self.row().await.tip_id
    }

    async fn list(&self, page: Page) -> Vec<StoredMessage> {
        self.store.list_messages(&self.who, self.id, page).await.unwrap().unwrap()
    }

    async fn view(&self) -> View {
        self.store.load_view(&self.who, self.id).await.unwrap().unwrap()
    }

    /// The texts of the whole branch, as the model sees it.
    async fn texts(&self) -> Vec<String> {
        self.view().await.messages.iter().map(|message| message.text()).collect()
    }

    fn question(&self, base_id: Option<MessageId>, asked: &str) -> Question {
        Question {
            holder: self.holder,
            lease_ms: LEASE_MS,
            turn_uid: fresh_uid(),
            base_id,
            message_uid: fresh_uid(),
            blocks: text(asked),
            app_authored: false,
            artifacts: Vec::new(),
            before: Vec::new(),
            head: None,
            request: colloquy::record::encode_request(None),
            llm_id: None,
            at: NOW,
        }
    }

    async fn append(&self, question: Question) -> Result<AppendedQuestion, StoreError> {
        self.store.append_question(&self.who, self.id, question).await
    }

    /// Asks on the tip.
    async fn ask(&self, asked: &str) -> AppendedQuestion {
        let question = self.question(self.tip().await, asked);
        self.append(question).await.unwrap()
    }

    /// Appends messages of the running turn below `parent_id`.
    async fn step(
        &self,
        asked: &AppendedQuestion,
        parent_id: MessageId,
        messages: Vec<NewMessage>,
    ) -> Result<Vec<Message>, StoreError> {
        let step = StepCommit { turn_id: asked.turn_id, parent_id, messages, at: NOW + 1 };
        self.store.append_step(&self.who, &asked.lease, step).await
    }

    /// A message for the running turn. Gives its place in the inbox.
    async fn steer(&self, asked: &AppendedQuestion, said: &str) -> Result<u32, StoreError> {
        self.store.accept_steer(&self.who, &asked.lease, asked.turn_id, text(said)).await
    }

    /// The running turn of this conversation as recovery would find it.
    async fn open_turn(&self) -> OpenTurn {
        let open = self.store.open_turns(TimeMs::MAX).await.unwrap();
        open.into_iter().find(|open| open.turn.conversation_id == self.id).unwrap()
    }

    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<Committed, StoreError> {
        self.store.commit_turn(&self.who, lease, commit).await
    }

    async fn answer(&self, asked: &AppendedQuestion, answer: &str) -> Committed {
        self.commit(&asked.lease, answer_to(asked, answer)).await.unwrap()
    }

    /// A question and its answer.
    async fn turn(&self, asked: &str, answer: &str) -> (MessageId, MessageId) {
        let question = self.ask(asked).await;
        let committed = self.answer(&question, answer).await;
        (question.message.id, committed.messages[0].id)
    }
}

/// The end of a plain turn.
fn answer_to(asked: &AppendedQuestion, answer: &str) -> Commit {
    let messages = vec![message(Kind::Answer, text(answer))];
    end(asked.turn_id, asked.message.id, messages)
}

fn end(turn_id: TurnId, parent_id: MessageId, messages: Vec<NewMessage>) -> Commit {
    Commit {
        turn_id,
        parent_id,
        messages,
        outcome: Outcome::Answered,
        error: None,
        tail: Vec::new(),
        first_seq: 1,
        last_seq: 2,
        at: NOW + 5,
    }
}

fn ids(messages: &[StoredMessage]) -> Vec<MessageId> {
    messages.iter().map(|stored| stored.message.id).collect()
}

#[track_caller]
fn assert_stale<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::StaleOwner)), "{result:?}");
}
