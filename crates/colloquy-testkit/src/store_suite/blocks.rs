//! What messages are made of comes back as it went in, byte for byte.

use std::sync::Arc;

use colloquy::ports::{NewMessage, Question, Store};
use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult, ValueBlock},
    message::{Kind, Message},
    repair::{Repair, repair},
    tool::ToolDefinition,
};

use super::{Chat, call, message};

/// Every byte value, for as long as asked.
pub(super) fn bytes(n_bytes: usize) -> Arc<[u8]> {
    (0..=u8::MAX).cycle().take(n_bytes).collect()
}

/// Text that naive storage changes.
const ODD: &str =
    " \u{0}\u{1}\r\n\u{7f}\u{85}\u{2028}\u{feff}\u{fffd}\\\"'e\u{301}👩🏽\u{200d}🚀\u{202e}<|im_end|> ";

fn every_block() -> Vec<Block> {
    let odd = || ODD.to_owned();
    vec![
        Block::Text(odd()),
        Block::Text(String::new()),
        Block::Value(ValueBlock { type_name: "Note".into(), json: r#"{"b":1,"a":[]}"#.into(), shown: odd() }),
        Block::Json(r#"{ "z": 1.0, "a": 1e2 }"#.into()),
        Block::ToolDefinition(ToolDefinition {
            name: "clock".into(),
            description: odd(),
            schema: Some(r#"{"type":"object","properties":{"z":{},"a":{}}}"#.into()),
        }),
        Block::ToolDefinition(ToolDefinition { name: "now".into(), description: odd(), schema: None }),
        Block::Image(Image { media_type: "image/png".into(), bytes: bytes(257), description: Some(odd()) }),
        Block::Image(Image { media_type: "image/gif".into(), bytes: bytes(0), description: None }),
        Block::File(File { media_type: "application/pdf".into(), bytes: bytes(1), name: odd() }),
        Block::ToolCall(ToolCall { id: odd(), name: "clock".into(), input: r#"{ "z" :1,"a":1.50} "#.into() }),
        Block::ToolCall(ToolCall { id: "c2".into(), name: "clock".into(), input: "{\"cut off".into() }),
        Block::ToolResult(ToolResult { call_id: odd(), text: odd(), is_error: true }),
        Block::Reasoning(Reasoning { text: odd(), signature: Some("EqQBCkgIARABGAIiQ/+==".into()) }),
        Block::Reasoning(Reasoning { text: String::new(), signature: None }),
        Block::RedactedReasoning(odd()),
        Block::Skill(Skill { name: "sums".into(), description: String::new(), body: odd() }),
    ]
}

/// Every kind of block, with everything in it.
// behaviours: 239
pub async fn every_block_comes_back_equal(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let question = Question { blocks: every_block(), ..chat.question(None, "") };
    let asked = chat.append(question).await.unwrap();
    assert_eq!(asked.message.blocks, every_block());
    let mut kinds: Vec<_> = every_block().iter().map(std::mem::discriminant).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), 11, "the set of blocks is closed");
    assert_eq!(chat.view().await.messages[0].blocks, every_block());
    chat.answer(&asked, "one").await;
    let whole = store.list_branch(&chat.who, chat.id).await.unwrap().unwrap();
    assert_eq!(whole[0].message, asked.message);
}

fn calls(ids: &[&str]) -> NewMessage {
    let call = |id: &&str| ToolCall { id: (*id).into(), name: "clock".into(), input: "{}".into() };
    message(Kind::Call, ids.iter().map(|id| Block::ToolCall(call(id))).collect())
}

fn results_of(ids: &[&str]) -> NewMessage {
    let result = |id: &&str| ToolResult { call_id: (*id).into(), text: "noon".into(), is_error: false };
    message(Kind::Results, ids.iter().map(|id| Block::ToolResult(result(id))).collect())
}

fn pairs(messages: &[Message]) -> [Vec<&str>; 2] {
    let calls = messages.iter().flat_map(Message::calls).map(|call| call.id.as_str());
    let results = messages.iter().flat_map(Message::results).map(|result| result.call_id.as_str());
    [calls.collect(), results.collect()]
}

/// In their order, whoever minted them.
// behaviours: 232
pub async fn identifiers_of_calls_and_results_come_back_as_they_were(store: &Arc<dyn Store>) {
    let ids = ["toolu_01A09q90qw90lq917835lq9", "call_00_é\u{0}", "fc-1|rs_2", ""];
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let step = vec![calls(&ids), results_of(&ids)];
    chat.step(&asked, asked.message.id, step).await.unwrap();
    let view = chat.view().await.messages;
    assert_eq!(pairs(&view), [ids, ids]);
    let (repaired, repairs) = repair(view.clone());
    assert_eq!((repaired, repairs), (view, Vec::new()));
}

/// The row stays as it is; what the model is shown is repaired when it is loaded.
// behaviours: 231
pub async fn i4_a_result_without_its_call_is_stored_and_left_out_of_the_view(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let step = vec![call(), results_of(&["c1", "orphan"])];
    let step = chat.step(&asked, asked.message.id, step).await.unwrap();
    let view = chat.view().await.messages;
    assert_eq!(pairs(&view), [vec!["c1"], vec!["c1", "orphan"]]);
    let (repaired, repairs) = repair(view);
    assert_eq!(pairs(&repaired), [["c1"], ["c1"]]);
    assert_eq!(repairs, [Repair::OrphanResult(step[1].id)]);
}

/// Every byte value is in it.
pub async fn a_picture_of_a_megabyte_comes_back_byte_for_byte(store: &Arc<dyn Store>) {
    let image = |bytes| Block::Image(Image { media_type: "image/png".into(), bytes, description: None });
    let chat = Chat::new(store).await;
    for n_bytes in [1 << 20, (1 << 20) + 1] {
        let question =
            Question { blocks: vec![image(bytes(n_bytes))], ..chat.question(chat.tip().await, "") };
        let asked = chat.append(question).await.unwrap();
        let (_, found) = store.find_message(&chat.who, asked.message.id).await.unwrap().unwrap();
        let [Block::Image(Image { bytes: found, .. })] = found.message.blocks.as_slice() else {
            panic!("a picture came back as something else")
        };
        assert!(*found == bytes(n_bytes), "the bytes have changed");
        chat.answer(&asked, "nice").await;
    }
}
