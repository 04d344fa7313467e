use colloquy_core::message::{Kind, MessageId, TurnId, Uid};

use super::*;

fn view(version: i64, n_bytes: usize) -> Kept {
    let message = Message {
        id: MessageId(1),
        uid: Uid([0; 16]),
        parent_id: None,
        depth: 0,
        turn_id: TurnId(1),
        step: 0,
        kind: Kind::Question,
        app_authored: false,
        compactable: true,
        blocks: vec![Block::Text("x".repeat(n_bytes))],
        origin: None,
        usage: None,
        finish_reason: None,
        created_at: 0,
        redacted_at: None,
    };
    Kept { messages: vec![message], version, ..Kept::default() }
}

#[test]
fn a_view_of_another_version_is_dropped() {
    let mut views = KeptViews::default();
    views.keep(ConversationId(1), view(3, 1));
    assert!(views.take(ConversationId(1), 4).is_none());
    assert!(views.take(ConversationId(1), 3).is_none());
    views.keep(ConversationId(1), view(3, 1));
    let kept = views.take(ConversationId(1), 3).unwrap();
    assert_eq!((kept.messages, kept.version), (view(3, 1).messages, 3));
    views.keep(ConversationId(1), view(3, 1));
    views.forget(ConversationId(1));
    assert!(views.take(ConversationId(1), 3).is_none());
}

#[test]
fn the_view_that_waited_longest_goes_first_and_a_large_one_is_kept_alone() {
    let mut views = KeptViews::default();
    let half = (BYTES_MAX / 2 - size_of::<Message>()) / 2;
    views.keep(ConversationId(1), view(1, half));
    views.keep(ConversationId(2), view(1, half));
    assert_eq!(views.views.len(), 2);
    views.keep(ConversationId(3), view(1, 1));
    assert!(!views.views.contains_key(&ConversationId(1)));
    assert!(views.views.contains_key(&ConversationId(2)));
    views.keep(ConversationId(4), view(1, 2 * BYTES_MAX));
    assert_eq!(views.views.keys().collect::<Vec<_>>(), [&ConversationId(4)]);
}
