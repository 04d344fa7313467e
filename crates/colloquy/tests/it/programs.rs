//! Random programs over one conversation: put, nuke, declare, ask, tool rounds, late tools, save
//! and restore, star. What each model call was shown is compared with the one before (I1 to I5);
//! the scripted model itself refuses what a real server would (broken pairs, wrong order).

use std::sync::Arc;

use colloquy::{
    Colloquy, Conversation, MemoryStore,
    core::{
        block::Block,
        head::Put,
        message::{FinishReason, MessageId},
        repair::repair,
    },
    ports::{ModelCall, Principal},
};
use colloquy_testkit::scripted::{Script, ScriptedModels};
use proptest::prelude::*;

use crate::{
    harness::TIMING,
    program::{Echo, SEAT, echo},
};

#[derive(Debug, Clone)]
enum Operation {
    /// Puts a text into one of three slots.
    Put(usize, u8),
    Nuke,
    /// Declares the tool, early or late.
    Declare,
    /// Asks; the model runs tools in so many steps first, so many calls in each.
    Ask {
        n_steps: usize,
        n_calls: usize,
        typed: bool,
    },
    /// Drops the handle and adopts the conversation again, as after a restart.
    Restore,
    /// Stars a message of the branch.
    Star(usize),
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..3_usize, any::<u8>()).prop_map(|(slot, text)| Operation::Put(slot, text)),
        1 => Just(Operation::Nuke),
        1 => Just(Operation::Declare),
        6 => (0..3_usize, 1..3_usize, any::<bool>())
            .prop_map(|(n_steps, n_calls, typed)| Operation::Ask { n_steps, n_calls, typed }),
        1 => Just(Operation::Restore),
        1 => (0..8_usize).prop_map(Operation::Star),
    ]
}

/// A conversation and what is expected of its next request.
struct Run {
    colloquy: Colloquy,
    models: ScriptedModels,
    principal: Principal,
    conversation: Conversation,
    is_frozen: bool,
    has_tool: bool,
    /// The head may differ from the last request's: the instance is new since.
    is_fresh: bool,
    last: Option<ModelCall>,
}

impl Run {
    fn new() -> Self {
        let models = ScriptedModels::new([]);
        let builder = Colloquy::builder().store(Arc::new(MemoryStore::new())).model(models.clone());
        let colloquy = builder.seat(SEAT).timing(TIMING).build().unwrap();
        let principal = Principal::local();
        let conversation = colloquy.mint(&principal);
        let (is_frozen, has_tool, is_fresh, last) = (false, false, true, None);
        Self { colloquy, models, principal, conversation, is_frozen, has_tool, is_fresh, last }
    }

    async fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Put(slot, text) => {
                let put = self.conversation.objective().put(&format!("slot{slot}"), format!("text {text}"));
                assert!(!self.is_frozen || put != Put::Placed, "a frozen head took a put");
            }
            Operation::Nuke => {
                let put = self.conversation.objective().nuke();
                assert!(!self.is_frozen || put != Put::Placed, "a frozen head was emptied");
            }
            Operation::Declare => {
                self.conversation.declare(Echo::default()).unwrap();
                self.has_tool = true;
            }
            Operation::Ask { n_steps, n_calls, typed } => {
                let n_steps = if self.has_tool { n_steps } else { 0 };
                self.ask(n_steps, n_calls, typed).await;
            }
            Operation::Restore => {
                let Some(id) = self.conversation.id() else { return };
                self.conversation = self.colloquy.adopt(&self.principal, id).await.unwrap();
                if self.has_tool {
                    self.conversation.declare(Echo::default()).unwrap();
                }
                (self.is_frozen, self.is_fresh) = (false, true);
            }
            Operation::Star(at) => {
                let Some(id) = self.conversation.id() else { return };
                let store = self.colloquy.store();
                let branch = store.list_branch(&self.principal, id).await.unwrap().unwrap();
                let message: MessageId = branch[at % branch.len()].message.id;
                self.colloquy.set_star(&self.principal, message, true).await.unwrap();
            }
        }
    }

    async fn ask(&mut self, n_steps: usize, n_calls: usize, typed: bool) {
        for _ in 0..n_steps {
            let calls = (0..n_calls).fold(Script::new().text("Let me see."), |script, at| {
                script.call(&format!("c{at}"), "echo", &echo("moin"))
            });
            self.models.push(calls.finish(FinishReason::ToolCalls));
        }
        self.models.push(Script::answer("\"fine\""));
        let seen = self.models.calls().len();
        if typed {
            // A bare word is no list: it goes back twice, and the third answer fits.
            self.models.push(Script::answer("{\"sure\": 1}"));
            self.models.push(Script::answer("[\"fine\"]"));
            let answer = self.conversation.ask_as::<Vec<String>>("As a list?").await;
            assert_eq!(answer.unwrap().value, ["fine"]);
        } else {
            self.conversation.ask("Well?").await.unwrap();
        }
        for recorded in self.models.calls().split_off(seen) {
            self.check(recorded.call);
        }
        self.is_frozen = true;
    }

    /// Holds a request against the one before.
    fn check(&mut self, call: ModelCall) {
        if let Some(last) = self.last.take() {
            if !std::mem::take(&mut self.is_fresh) {
                assert_eq!(call.prepared.system, last.prepared.system, "I2: the system text moved");
                assert_eq!(call.prepared.palette, last.prepared.palette, "I2: the palette moved");
            }
            let (before, after) = (stable(&last), stable(&call));
            assert_eq!(before[..], after[..before.len().min(after.len())], "I3: the prefix moved");
            assert!(after.len() >= before.len());
        }
        self.is_fresh = false;
        let in_turns = call.prepared.turns.iter().any(|turn| {
            turn.blocks.iter().any(|block| block.as_text().is_some_and(|text| text.contains("text ")))
        });
        assert!(!in_turns, "I1: the objective stands in a turn");
        self.last = Some(call);
    }
}

/// The blocks of a request without its volatile tail, turn by turn.
fn stable(call: &ModelCall) -> Vec<Block> {
    call.prepared.turns.iter().flat_map(|turn| turn.blocks[..turn.n_stable].to_vec()).collect()
}

proptest! {
    #[test]
    fn i1_to_i5_hold_over_any_program(operations in prop::collection::vec(any_operation(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut run = Run::new();
            for operation in operations {
                run.apply(operation).await;
            }
            if let Some(id) = run.conversation.id() {
                let branch = run.colloquy.store().list_branch(&run.principal, id).await.unwrap().unwrap();
                let messages = branch.into_iter().map(|stored| stored.message).collect();
                let (_, repairs) = repair(messages);
                assert_eq!(repairs, [], "I4, I5: the stored branch needed repair");
            }
            run.colloquy.shut_down().await;
        });
    }
}
