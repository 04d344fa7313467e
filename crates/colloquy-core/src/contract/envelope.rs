//! The envelope of a reply where tools are text: an answer, or calls, and why.

use super::{ANSWER, Contract, REASONING, Signals, asked};
use crate::schema::{Descriptor, Field, Node, Object, Shape};

/// Whether the envelope ends the question.
pub(super) const FINAL_ANSWER: &str = "final_answer";
/// The calls.
pub(super) const TOOL_CALLS: &str = "tool_calls";
/// The tool of a call.
pub(super) const NAME: &str = "name";
/// The arguments of a call.
pub(super) const INPUT: &str = "input";

/// The envelope as it is asked for.
pub(super) fn asked_for(contract: &Contract, signals: Signals) -> Descriptor {
    let answer = match contract {
        Contract::Text => Node::of(Shape::String, "The answer, when there is one."),
        Contract::Typed(descriptor) => asked(descriptor, signals).root,
    };
    envelope(answer, signals)
}

/// The envelope as it is read first. The answer is read on its own, so that what is wrong with it
/// is named by its path in the answer.
pub(super) fn as_read(signals: Signals) -> Descriptor {
    envelope(Node::default(), signals)
}

/// An object that holds a value of a type that is none.
pub(super) fn wrapper(descriptor: Descriptor) -> Descriptor {
    let required = !descriptor.root.nullable;
    object("", vec![field(ANSWER, required, descriptor.root)])
}

fn envelope(answer: Node, signals: Signals) -> Descriptor {
    let is_final = "true when this reply answers the question; false when it asks for tools.";
    let calls = "The tools to be run before you go on. Empty when there is an answer.";
    let mut fields = vec![
        field(FINAL_ANSWER, true, Node::of(Shape::Boolean, is_final)),
        field(ANSWER, false, Node { nullable: true, ..answer }),
        field(TOOL_CALLS, false, Node::of(Shape::Array(Box::new(call())), calls)),
    ];
    if !signals.thinking_active {
        let why = "What this reply rests on, in one or two sentences that can be checked.";
        fields.push(field(REASONING, false, Node::of(Shape::String, why)));
    }
    object("Reply", fields)
}

fn call() -> Node {
    let input =
        "The arguments: an object as the tool's input parameters say. Left out for a tool that has none.";
    let fields = vec![
        field(NAME, true, Node::of(Shape::String, "The name of a declared tool.")),
        field(INPUT, false, Node::of(Shape::Any, input)),
    ];
    object("ToolCall", fields).root
}

fn object(name: &str, fields: Vec<Field>) -> Descriptor {
    let shape = Shape::Object(Object { name: name.to_owned(), fields });
    Descriptor { root: Node { shape, ..Node::default() } }
}

fn field(name: &str, required: bool, node: Node) -> Field {
    Field { name: name.to_owned(), required, node }
}
