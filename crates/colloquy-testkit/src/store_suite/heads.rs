//! The head of a conversation: stored with the question that it is first sent with.

use std::{num::NonZeroU32, sync::Arc};

use colloquy::ports::{Question, Store, StoreError, StoredHead};
use colloquy_core::{
    block::{Block, Skill},
    head::{Head, Put},
    message::MessageId,
    objective::Objective,
    seat::{Depth, Grade, OutputSize, Seat},
    tool::ToolDefinition,
};

use super::{Chat, artifacts::artifact};

/// A head whose `task` is that text.
pub(super) fn head(task: &str) -> StoredHead {
    let mut objective = Objective::default();
    for (key, value) in [
        ("task", Block::Text(task.into())),
        ("extra \u{0}é", Block::Json(r#"{ "z":1, "a":2 }"#.into())),
        ("skill:sums", Block::Skill(Skill { name: "sums".into(), ..skill() })),
        ("a", Block::Text("last, whatever the alphabet says".into())),
    ] {
        objective.put(key, value);
    }
    let tool = |name: &str, schema: Option<&str>| ToolDefinition {
        name: name.into(),
        description: "Tells the time. [in memory]".into(),
        schema: schema.map(str::to_owned),
    };
    StoredHead {
        objective,
        palette: vec![tool("zone", Some(r#"{"type":"object"}"#)), tool("clock", None)],
        seat: Seat {
            grade: Some(Grade::Ceiling),
            depth: Some(Depth::UltraThorough),
            output: NonZeroU32::new(u32::MAX).map(OutputSize::Tokens),
            interactive: true,
        },
        prior_model: Some("big".into()),
        cache_system: true,
    }
}

fn skill() -> Skill {
    Skill { name: String::new(), description: "Adds.".into(), body: "Carry the one.".into() }
}

/// Keys, order, tools and seat; a slot of the restored head keeps its place.
// behaviours: 9
pub async fn a_head_comes_back_with_its_keys_in_order_and_a_slot_is_refreshed_in_place(
    store: &Arc<dyn Store>,
) {
    let chat = Chat::new(store).await;
    assert_eq!(store.load_head(&chat.who, chat.id).await.unwrap(), None);
    let question = Question { head: Some(head("sum up")), ..chat.question(None, "1") };
    chat.append(question).await.unwrap();
    let stored = store.load_head(&chat.who, chat.id).await.unwrap().unwrap();
    assert_eq!(stored, head("sum up"));
    let mut restored = Head::restored(stored.objective, stored.palette);
    assert_eq!(restored.put("task", Block::Text("translate".into())), Put::Placed);
    let (objective, palette) = restored.to_store();
    let refreshed = head("translate");
    assert_eq!((objective, palette), (refreshed.objective, refreshed.palette));
}

/// And then whole, not merged into the one before.
pub async fn a_head_is_rewritten_only_when_one_is_given(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let ask = async |head: Option<StoredHead>| {
        let asked = chat.append(Question { head, ..chat.question(chat.tip().await, "?") }).await.unwrap();
        chat.answer(&asked, "!").await;
        store.load_head(&chat.who, chat.id).await.unwrap()
    };
    assert_eq!(ask(None).await, None);
    assert_eq!(ask(Some(head("one"))).await, Some(head("one")));
    assert_eq!(ask(None).await, Some(head("one")));
    assert_eq!(ask(Some(StoredHead::default())).await, Some(StoredHead::default()));
    assert_eq!(ask(Some(head("two"))).await, Some(head("two")));
}

/// They are of its transaction.
pub async fn a_question_that_is_refused_leaves_head_and_artifacts_as_they_were(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = Question { head: Some(head("one")), ..chat.question(None, "1") };
    let asked = chat.append(first).await.unwrap();
    let with_more = |base_id| Question {
        head: Some(head("two")),
        artifacts: vec![artifact("note", "abc123", "{}")],
        ..chat.question(base_id, "2")
    };
    let refused = chat.append(with_more(Some(asked.message.id))).await;
    assert!(matches!(refused, Err(StoreError::TurnInProgress { .. })), "{refused:?}");
    chat.answer(&asked, "one").await;
    let refused = chat.append(with_more(Some(MessageId(i64::MAX)))).await;
    assert!(matches!(refused, Err(StoreError::StaleParent { .. })), "{refused:?}");
    assert_eq!(store.load_head(&chat.who, chat.id).await.unwrap(), Some(head("one")));
    assert_eq!(store.load_artifacts(&chat.who, chat.id).await.unwrap(), []);
}
