//! What a model saw, one line per block, for snapshots.

use std::{borrow::Cow, fmt};

use colloquy_core::{block::Block, message::Role, prepare::PreparedConversation};

/// Renders `01 system …`, `02 user …` and so on: the number of the message on a wire that sends
/// the system text as one, who speaks, and a block. Tools of the head and skills stand first,
/// without a number, as they are no messages. What the next request will not hold again has a `~`
/// before it. Line breaks in a text are shown as `\n`.
///
/// An empty system text has no line, as it has no message on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a>(pub &'a PreparedConversation);

impl fmt::Display for Recorded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PreparedConversation { skills, system, cache_system: _, palette, turns } = self.0;
        for skill in skills {
            writeln!(f, "   skill {} {}", skill.name, one_line(&skill.body))?;
        }
        for tool in palette {
            writeln!(f, "   tool {}", one_line(&tool.text()))?;
        }
        if !system.is_empty() {
            writeln!(f, "01 system {}", one_line(system))?;
        }
        let first = if system.is_empty() { 1 } else { 2 };
        for (number, turn) in (first..).zip(turns) {
            let role = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            for (index, block) in turn.blocks.iter().enumerate() {
                let volatile = if index < turn.n_stable { "" } else { "~ " };
                writeln!(f, "{number:02} {role} {volatile}{}", one_line(&shown(block)))?;
            }
        }
        Ok(())
    }
}

/// A block in a few words; text is itself.
fn shown(block: &Block) -> Cow<'_, str> {
    match block {
        Block::Text(text) => Cow::Borrowed(text),
        Block::Value(value) => format!("value {} {}", value.type_name, value.shown).into(),
        Block::Json(json) => format!("json {json}").into(),
        Block::ToolDefinition(tool) => format!("tool {}", tool.text()).into(),
        Block::Image(image) => {
            let description = image.description.as_deref().unwrap_or("-");
            format!("image {} {} bytes {description}", image.media_type, image.bytes.len()).into()
        }
        Block::File(file) => {
            format!("file {} {} bytes {}", file.media_type, file.bytes.len(), file.name).into()
        }
        Block::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.input).into(),
        Block::ToolResult(result) => {
            let word = if result.is_error { "error" } else { "result" };
            format!("{word} {} {}", result.call_id, result.text).into()
        }
        Block::Reasoning(reasoning) => {
            let signature = reasoning.signature.as_deref().unwrap_or("unsigned");
            format!("reasoning ({signature}) {}", reasoning.text).into()
        }
        Block::RedactedReasoning(data) => format!("redacted reasoning {data}").into(),
        Block::Skill(skill) => format!("skill {} {}", skill.name, skill.body).into(),
    }
}

fn one_line(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests;
