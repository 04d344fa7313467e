//! What a store must say after each operation of a program.

use colloquy::ports::{AppendedQuestion, InboxMessage, Lease, Page};
use colloquy_core::{
    artifact::Artifact,
    message::{Kind, Message, MessageId, Role, text_of},
};

use super::super::{Chat, ids};

/// What the store must say.
#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) branch: Vec<(MessageId, Kind, String)>,
    pub(super) starred: Vec<MessageId>,
    pub(super) running: Option<AppendedQuestion>,
    pub(super) version: i64,
    /// How many events of the running turn were flushed.
    pub(super) n_events: u64,
    /// How many messages the running turn accepted.
    pub(super) n_accepted: u32,
    /// Those of them that no message has delivered.
    pub(super) waiting: Vec<(u32, String)>,
    pub(super) artifacts: Vec<Artifact>,
    /// The newest lease that is known to have been lost.
    pub(super) lost: Option<(AppendedQuestion, Lease)>,
}

impl Expected {
    pub(super) fn tip(&self) -> Option<MessageId> {
        self.branch.last().map(|(id, _, _)| *id)
    }

    pub(super) fn append(&mut self, messages: &[Message]) {
        self.branch.extend(messages.iter().map(|message| (message.id, message.kind, message.text())));
    }

    pub(super) fn begin(&mut self, asked: AppendedQuestion) {
        (self.n_events, self.n_accepted) = (0, 0);
        self.running = Some(asked);
    }
}

pub(super) async fn check(chat: &Chat<'_>, expected: &Expected) {
    let row = chat.row().await;
    assert_eq!((row.tip_id, row.version), (expected.tip(), expected.version));
    let view = chat.view().await;
    let seen = view.messages.iter().map(|message| (message.id, message.kind, message.text()));
    assert_eq!(seen.collect::<Vec<_>>(), expected.branch);
    check_branch(&view.messages);
    if expected.running.is_none() {
        let tip = view.messages.last().map(|message| message.kind);
        assert!(matches!(tip, None | Some(Kind::Answer | Kind::Closing)), "{tip:?}");
    }
    let listed = expected.branch.iter().filter(|(_, kind, _)| *kind != Kind::Announcement);
    let list = chat.list(Page::default()).await;
    assert_eq!(ids(&list), listed.map(|(id, _, _)| *id).collect::<Vec<_>>());
    for stored in &list {
        assert_eq!(stored.siblings, [stored.message.id]);
        assert_eq!(stored.starred, expected.starred.contains(&stored.message.id));
    }
    assert_eq!(chat.store.load_artifacts(&chat.who, chat.id).await.unwrap(), expected.artifacts);
    check_open(chat, expected, &view.messages).await;
}

/// Parents, depths, and roles that alternate, announcements and steering aside.
fn check_branch(messages: &[Message]) {
    for (depth, message) in messages.iter().enumerate() {
        assert_eq!(message.depth as usize, depth);
        let parent = depth.checked_sub(1).map(|above| messages[above].id);
        assert_eq!(message.parent_id, parent);
    }
    let aside = |message: &&Message| !matches!(message.kind, Kind::Announcement | Kind::Steer);
    for (n, message) in messages.iter().filter(aside).enumerate() {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        assert_eq!(message.role(), role, "roles alternate");
    }
}

async fn check_open(chat: &Chat<'_>, expected: &Expected, branch: &[Message]) {
    let open = chat.store.open_turns(i64::MAX).await.unwrap();
    let open: Vec<_> = open.into_iter().filter(|open| open.turn.conversation_id == chat.id).collect();
    let Some(asked) = &expected.running else {
        assert_eq!(open, []);
        return;
    };
    let [open] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!(open.turn.id, asked.turn_id);
    assert_eq!((open.events.len() as u64, open.turn.last_seq), (expected.n_events, expected.n_events));
    assert_eq!(open.messages, branch);
    let said = |message: &InboxMessage| (message.ordinal, text_of(&message.blocks));
    assert_eq!(open.inbox.iter().map(said).collect::<Vec<_>>(), expected.waiting);
}
