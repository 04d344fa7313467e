//! Many writers at once.

use std::sync::Arc;

use colloquy::ports::{Page, Principal, Store, StoreError};
use colloquy_core::message::{ConversationId, Kind, Uid};
use tokio::task::JoinSet;

use super::{Chat, answer_to, fresh_uid};

const N_WRITERS: usize = 16;
const N_TURNS: usize = 8;

/// Asks until `N_TURNS` turns were its own; gives what it said, in order.
async fn write(store: Arc<dyn Store>, who: Principal, id: ConversationId, holder: Uid) -> Vec<String> {
    let mut said = Vec::new();
    while said.len() < N_TURNS {
        let chat = Chat { store: store.as_ref(), who: who.clone(), holder, id };
        let text = format!("{:x?} {}", &holder.0[8..], said.len());
        match chat.append(chat.question(chat.tip().await, &text)).await {
            Ok(asked) => {
                // Between these two awaits every other writer has its chance to get in.
                tokio::task::yield_now().await;
                chat.commit(&asked.lease, answer_to(&asked, &text)).await.unwrap();
                said.push(text);
            }
            Err(StoreError::TurnInProgress { .. } | StoreError::StaleParent { .. }) => {
                tokio::task::yield_now().await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    said
}

/// Nobody's message is lost, each answer follows its question, and each writer's are in its order.
pub async fn sixteen_writers_have_one_owner_at_a_time(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let mut writers = JoinSet::new();
    for _ in 0..N_WRITERS {
        writers.spawn(write(Arc::clone(store), chat.who.clone(), chat.id, fresh_uid()));
    }
    let said = writers.join_all().await;
    let list = chat.list(Page::default()).await;
    assert_eq!(list.len(), 2 * N_WRITERS * N_TURNS);
    for pair in list.chunks(2) {
        let [question, answer] = pair else { panic!("an odd number of messages") };
        assert_eq!((question.message.kind, answer.message.kind), (Kind::Question, Kind::Answer));
        assert_eq!(question.message.text(), answer.message.text());
        assert_eq!(question.turn_uid, answer.turn_uid);
    }
    for of_one in said {
        let stored = list.iter().step_by(2).map(|stored| stored.message.text());
        assert_eq!(stored.filter(|text| of_one.contains(text)).collect::<Vec<_>>(), of_one);
    }
    assert_eq!(chat.row().await.version, (2 * N_WRITERS * N_TURNS) as i64);
}

/// None is refused because of another.
pub async fn many_conversations_are_written_at_once(store: &Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for _ in 0..N_WRITERS {
        let store = Arc::clone(store);
        writers.spawn(async move {
            let chat = Chat::new(&store).await;
            for number in 0..N_TURNS {
                chat.turn(&format!("q{number}"), &format!("a{number}")).await;
            }
            chat.texts().await
        });
    }
    let expected: Vec<String> = (0..N_TURNS).flat_map(|n| [format!("q{n}"), format!("a{n}")]).collect();
    for texts in writers.join_all().await {
        assert_eq!(texts, expected);
    }
}
