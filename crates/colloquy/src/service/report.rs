//! An error that the application reports, stored as a turn that was over when it began.

use colloquy_core::{
    block::Block,
    curated::GENERIC_ERROR,
    message::{ConversationId, MessageId, Usage},
    turn::{Failure, FailureCode, Outcome},
};

use super::{Place, Running, ServiceError, Shared};
use crate::{
    ports::{Commit, Principal, Question, StoreError},
    stream::{Done, StreamEvent},
    turn_loop::{ToClose, closing_messages, commit_within_limit, error_of},
};

/// The question under it, so that roles keep alternating; lists leave it out.
const REPORTED_ERROR: &str = "[The application reported an error.]";

const OUTCOME: Outcome = Outcome::Failed(FailureCode::Internal);

/// See [`super::Colloquy::store_error`]. Runs in a task of its own: both commits or neither.
pub(super) async fn store_error(
    shared: &Shared,
    principal: &Principal,
    id: ConversationId,
) -> Result<MessageId, ServiceError> {
    let exists = shared.store.find_conversation(principal, id).await?.is_some();
    if !exists {
        return Err(ServiceError::NoSuchConversation);
    }
    let running = Running::new(shared.ids.uid(), &shared.closing);
    let place = Place::take(&shared.running, id, &running)
        .map_err(|taken| ServiceError::TurnInProgress { turn_uid: Some(taken.turn_uid) })?;
    // Read again now that no turn of this process can move the tip.
    let row = shared.store.find_conversation(principal, id).await?.ok_or(ServiceError::NoSuchConversation)?;
    let question = Question {
        app_authored: true,
        blocks: vec![Block::Text(REPORTED_ERROR.into())],
        ..shared.question(&row, &running, None)
    };
    let asked = shared.store.append_question(principal, id, question).await.map_err(in_progress)?;
    running.own(asked.lease, asked.turn_id);
    let question_id = asked.message.id;
    let line = Some(GENERIC_ERROR.to_owned());
    let committed = [asked.message];
    let to_close = ToClose { committed: &committed, finished: &[], held: &[], shown: Vec::new(), line };
    let commit = Commit {
        turn_id: asked.turn_id,
        parent_id: question_id,
        messages: closing_messages(shared.ids.as_ref(), to_close),
        outcome: OUTCOME,
        error: Some(error_of(&Failure::Internal)),
        tail: Vec::new(),
        first_seq: 1,
        last_seq: 0,
        at: shared.clock.now(),
    };
    let committed = commit_within_limit(shared.store.as_ref(), principal, &asked.lease, commit).await?;
    let message_id = committed.messages.last().map(|message| message.id);
    let usage = Usage::default();
    let done = Done { turn_uid: running.turn_uid, outcome: OUTCOME, question_id, message_id, usage };
    place.leave(StreamEvent::Done(done));
    message_id.ok_or(ServiceError::NoSuchConversation)
}

fn in_progress(error: StoreError) -> ServiceError {
    match error {
        StoreError::TurnInProgress { turn_uid } => ServiceError::TurnInProgress { turn_uid },
        StoreError::NoSuchConversation => ServiceError::NoSuchConversation,
        StoreError::StaleOwner
        | StoreError::StaleParent { .. }
        | StoreError::NameTaken
        | StoreError::Newer { .. }
        | StoreError::DiskFull
        | StoreError::Unavailable(_)
        | StoreError::Corrupt(_) => ServiceError::Store(error),
    }
}
