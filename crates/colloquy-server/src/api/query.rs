//! A question: the body of `query` (server reference § 2, design § 9).
//!
//! What is not supported yet is refused, never dropped: whoever attaches a file must not get an
//! answer that never saw it.

use colloquy::Ask;
use colloquy_core::{conversation::CUSTOM_PROMPT_CHARS_MAX, message::MessageId};

use crate::{fields::Fields, problem::Problem};

/// Reads a question.
pub(crate) fn ask(mut fields: Fields) -> Result<Ask, Problem> {
    let text = fields.required_string("question");
    for name in ["images", "image_paths", "attachments"] {
        if !fields.strings(name).is_empty() {
            fields.reject(
                name,
                "attachments are not supported yet; send the question without them",
                "unsupported",
            );
        }
    }
    only(&mut fields, "on_disconnect", "stop", &["continue"]);
    only(&mut fields, "when_busy", "reject", &["queue", "steer", "interrupt"]);
    // Accepted so that an older client gets an answer; what an answer may cost is not a setting.
    fields.count("max_new_tokens");
    let ask = Ask {
        text,
        parent_id: fields.integer("parent_id").map(MessageId),
        temperature: ranged(&mut fields, "temperature", 2.0, "must be between 0 and 2"),
        top_p: ranged(&mut fields, "top_p", 1.0, "must be between 0 and 1"),
        custom_prompt: custom_prompt(&mut fields),
        ..Ask::default()
    };
    fields.finish()?;
    Ok(ask)
}

/// Accepts the one value of a choice that works so far.
fn only(fields: &mut Fields, name: &'static str, supported: &str, planned: &[&str]) {
    match fields.string(name) {
        None => {}
        Some(value) if value == supported => {}
        Some(value) if planned.contains(&value.as_str()) => {
            fields.reject(name, format!("`{value}` is not supported yet; use `{supported}`"), "unsupported");
        }
        Some(_) => {
            fields.reject(name, format!("must be one of {supported}, {}", planned.join(", ")), "enum");
        }
    }
}

fn ranged(fields: &mut Fields, name: &'static str, max: f64, rule: &'static str) -> Option<f64> {
    let value = fields.number(name)?;
    if !(0.0..=max).contains(&value) {
        fields.reject(name, rule, "value_error");
    }
    Some(value)
}

fn custom_prompt(fields: &mut Fields) -> Option<String> {
    let text = fields.string("custom_prompt")?;
    if text.chars().count() > CUSTOM_PROMPT_CHARS_MAX {
        let rule = format!("must be at most {CUSTOM_PROMPT_CHARS_MAX} characters long");
        fields.reject("custom_prompt", rule, "value_error");
    }
    Some(text)
}
