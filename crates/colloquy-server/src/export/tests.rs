use colloquy_core::{
    block::{ToolCall, ToolResult},
    conversation::{Effort, Settings},
    message::{ConversationId, Origin, TurnId, Uid, Usage},
    turn::Outcome,
};

use super::*;

fn row() -> ConversationRow {
    ConversationRow {
        id: ConversationId(1),
        uid: Uid([0xc0; 16]),
        llm_id: None,
        name: "Clocks\nand time".into(),
        settings: Settings {
            temperature: 0.2,
            top_p: 0.95,
            max_tokens: 1024,
            custom_prompt: "Be brief.".into(),
            web_search_enabled: false,
            reasoning_effort: Effort::Medium,
            compaction_threshold: 80,
        },
        tip_id: Some(MessageId(4)),
        version: 3,
        created_at: 0,
        last_message_at: 1,
    }
}

fn branch() -> Vec<StoredMessage> {
    let call = ToolCall { id: "c1".into(), name: "clock".into(), input: "{}".into() };
    let result = ToolResult { call_id: "c1".into(), text: "noon".into(), is_error: true };
    let blocks = [
        (Kind::Question, vec![Block::Text("When?".into())]),
        (Kind::Call, vec![Block::ToolCall(call)]),
        (Kind::Results, vec![Block::ToolResult(result)]),
        (Kind::Answer, vec![Block::reasoning("Hm.\n"), Block::Text("Noon.".into())]),
    ];
    let stored = |(at, (kind, blocks)): (usize, (Kind, Vec<Block>))| StoredMessage {
        message: Message {
            id: MessageId(at as i64 + 1),
            uid: Uid([at as u8; 16]),
            parent_id: (at > 0).then_some(MessageId(at as i64)),
            depth: at as u32,
            turn_id: TurnId(1),
            step: at as u32 / 2,
            kind,
            app_authored: false,
            compactable: true,
            blocks,
            origin: Some(Origin { llm_id: None, dialect: "openai".into(), model: "toy".into() }),
            usage: Some(Usage::default()),
            finish_reason: Some(FinishReason::Stop),
            created_at: 0,
            redacted_at: None,
        },
        starred: at == 3,
        turn_uid: Uid([0x70; 16]),
        outcome: Some(Outcome::Answered),
        error: None,
        siblings: Vec::new(),
    };
    blocks.into_iter().enumerate().map(stored).collect()
}

#[test]
fn the_json_form_holds_every_block_and_both_ends_of_every_link() {
    insta::assert_snapshot!(json(&row(), None, &branch()));
}

#[test]
fn the_markdown_form_leaves_out_what_only_the_model_reads() {
    insta::assert_snapshot!(markdown(&row(), None, &branch()));
}
