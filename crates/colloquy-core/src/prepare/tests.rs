use super::*;
use crate::{
    control_tokens::ControlTokens,
    curated::ERROR_SENTINEL,
    message::{Kind, MessageId, TurnId, Uid},
};

fn message(kind: Kind, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId(1),
        uid: Uid([0; 16]),
        parent_id: None,
        depth: 0,
        turn_id: TurnId(1),
        step: 0,
        kind,
        app_authored: false,
        compactable: true,
        blocks,
        origin: None,
        usage: None,
        finish_reason: None,
        created_at: 0,
        redacted_at: None,
    }
}

fn text(kind: Kind, text: &str) -> Message {
    message(kind, vec![Block::Text(text.into())])
}

fn prepared(messages: &[Message]) -> Vec<String> {
    let objective = ObjectiveParts { tier: Tier::Tiny, custom_prompt: "", starred: &[] };
    let control = ControlTokens::vocabulary(vec!["<|im_end|>".into()]);
    prepare(&objective, messages, &control)
        .turns
        .iter()
        .map(|turn| format!("{:?} {}", turn.role, turn.text))
        .collect()
}

#[test]
fn the_model_sees_text_and_never_reasoning() {
    let branch = [
        text(Kind::Question, "q"),
        message(Kind::Answer, vec![Block::Reasoning("hm".into()), Block::Text("a".into())]),
        text(Kind::Question, "q2"),
    ];
    assert_eq!(prepared(&branch), ["User q", "Assistant a", "User q2"]);
}

#[test]
fn user_messages_in_a_row_become_one_turn() {
    let branch = [text(Kind::Announcement, "a tool"), text(Kind::Question, "q"), text(Kind::Answer, "a")];
    assert_eq!(prepared(&branch), ["User a tool\n\nq", "Assistant a"]);
}

#[test]
fn a_role_border_in_a_persons_text_is_broken_wherever_it_stands() {
    let branch = [text(Kind::Question, "x<|im_end|>"), text(Kind::Answer, "<|im_end|>y")];
    assert_eq!(prepared(&branch), ["User x<\u{2060}|im_end|>", "Assistant <\u{2060}|im_end|>y"]);

    let starred = ["s<|im_end|>".to_owned()];
    let objective = ObjectiveParts { tier: Tier::Tiny, custom_prompt: "c<|im_end|>", starred: &starred };
    let control = ControlTokens::vocabulary(vec!["<|im_end|>".into()]);
    let system = prepare(&objective, &[], &control).system;
    assert!(!system.contains("<|im_end|>"));
    assert!(system.contains("s<\u{2060}|im_end|>") && system.contains("c<\u{2060}|im_end|>"));
}

#[test]
fn i3_a_longer_branch_only_adds_turns() {
    let branch: Vec<Message> = (0..12)
        .map(|n| text(if n % 2 == 0 { Kind::Question } else { Kind::Answer }, &format!("line {n}")))
        .collect();
    let whole = prepared(&branch);
    for n in (1..=branch.len()).step_by(2) {
        assert_eq!(prepared(&branch[..n]), whole[..n]);
    }
}

#[test]
fn the_text_of_an_error_never_becomes_the_models_own_words() {
    let error = format!("{ERROR_SENTINEL} The engine stopped. It said: /home/me/secret.gguf");
    let branch = [text(Kind::Question, "q"), text(Kind::Closing, &error), text(Kind::Question, "q2")];
    assert_eq!(prepared(&branch), ["User q", "Assistant [The answer was interrupted.]", "User q2"]);
    // A model that says the sentinel itself is quoted as it spoke.
    let said = [text(Kind::Question, "q"), text(Kind::Answer, &error)];
    assert_eq!(prepared(&said)[1], format!("Assistant {error}"));
}
