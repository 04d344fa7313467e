//! What a model is told about the form of its reply.

use super::{Contract, Refused, Signals, bare_form, envelope};
use crate::schema::{Descriptor, Shape};

/// The instructions of a contract; `None` for prose.
pub(super) fn of(contract: &Contract, signals: Signals) -> Option<String> {
    if contract.is_enveloped(signals) {
        return Some(whole_reply("Reply", &envelope::asked_for(contract, signals)));
    }
    match contract {
        Contract::Text => None,
        Contract::Typed(descriptor) => {
            let opening = if signals.has_tools {
                "While you lack information, use your tools. Once you have it, reply"
            } else {
                "Reply"
            };
            Some(whole_reply(opening, &bare_form(descriptor, signals)))
        }
    }
}

/// Asks for one value as the whole reply.
fn whole_reply(opening: &str, asked: &Descriptor) -> String {
    let kind = if matches!(asked.root.shape, Shape::Array(_)) { "list" } else { "object" };
    format!(
        "{opening} with one JSON {kind} and nothing else: no code fence, no words before or after it, and no \
         JSON copied from a document. Its shape:\n{}",
        asked.notation()
    )
}

/// The correction that names what is wrong and asks for the whole reply again.
pub(super) fn correction(refused: &Refused) -> String {
    let lines: Vec<String> = refused.violations.iter().map(|violation| format!("- {violation}")).collect();
    format!(
        "Your reply cannot be used as it is:\n{}\nReply again, whole, in the shape that was asked for.",
        lines.join("\n")
    )
}
