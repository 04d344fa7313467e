//! A conversation for a reader other than its model (runtime page, "Reading a conversation as
//! text"): what was said, called and returned, without reasoning and without tool schemas.

use crate::{
    block::Block,
    message::{Kind, Message, Role},
};

/// Renders every message under its role, in order, with a blank line between two.
pub fn render(messages: &[Message]) -> String {
    messages.iter().map(rendered).collect::<Vec<_>>().join("\n\n")
}

/// The first message that a person sent; what a conversation is titled and found by. What the
/// program put on the user's side itself is not one.
pub fn first_utterance(messages: &[Message]) -> Option<&Message> {
    messages.iter().find(|message| is_utterance(message))
}

fn is_utterance(message: &Message) -> bool {
    !message.app_authored && matches!(message.kind, Kind::Question | Kind::Steer)
}

fn rendered(message: &Message) -> String {
    let mut text = match message.role() {
        Role::User => "[user]".to_owned(),
        Role::Assistant => "[assistant]".to_owned(),
    };
    for line in message.blocks.iter().filter_map(line) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// A block as a reader sees it; `None` for what is the provider's channel or the wire's.
fn line(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) | Block::Json(text) => Some(text.clone()),
        Block::Value(value) => Some(value.json.clone()),
        Block::ToolCall(call) => Some(format!("<tool call {} id={}> {}", call.name, call.id, call.input)),
        Block::ToolResult(result) => {
            let mark = if result.is_error { " error" } else { "" };
            Some(format!("<tool result id={}{mark}> {}", result.call_id, result.text))
        }
        Block::Skill(skill) => Some(format!("<skill {}>", skill.name)),
        Block::Image(image) => Some(format!("<image {}>", image.media_type)),
        Block::File(file) => Some(format!("<file {}>", file.name)),
        Block::ToolDefinition(_) | Block::Reasoning(_) | Block::RedactedReasoning(_) => None,
    }
}

#[cfg(test)]
mod tests;
