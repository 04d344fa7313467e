//! Reads a reply by its contract (reference § 7.4).
//!
//! Calls come first: with any, nothing of the text is checked, so that a reply of calls and a bad
//! answer still runs its calls and none of them stays without a result (reference § 29.20).

use std::borrow::Cow;

use serde_json::Value;

use super::{
    ANSWER, Contract, REASONING, Reading, Refused, Signals,
    envelope::{self, FINAL_ANSWER, INPUT, NAME, TOOL_CALLS},
    is_wrapped, left_out_reasoning, required,
};
use crate::{
    block::{Block, ToolCall},
    lenient::{self, ERRORS_MAX, ReadError, Wanted},
    message::text_of,
    schema::{Descriptor, Node, Shape},
};

/// A reply in its parts.
struct Reply {
    text: String,
    /// What was thought in blocks of its own.
    thought: String,
    /// The calls that came as such.
    calls: Vec<ToolCall>,
}

/// An envelope, opened.
struct Opened {
    is_final: bool,
    /// Null when there is none.
    answer: Value,
    calls: Vec<ToolCall>,
    reasoning: String,
}

pub(super) fn of(
    contract: &Contract,
    blocks: &[Block],
    signals: Signals,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Reading, Refused> {
    let reply = Reply::of(blocks);
    if reply.text.trim().is_empty() {
        let is_final = reply.calls.is_empty();
        return Ok(Reading { answer: None, calls: reply.calls, reasoning: reply.thought, is_final });
    }
    if contract.is_enveloped(signals) {
        return enveloped(contract, reply, signals, is_known);
    }
    if !reply.calls.is_empty() {
        let reasoning = reply.reasoning("", Wanted::Object);
        return Ok(Reading { answer: None, calls: reply.calls, reasoning, is_final: false });
    }
    match contract {
        Contract::Text => {
            let answer = Some(Value::String(reply.text));
            Ok(Reading { answer, calls: Vec::new(), reasoning: reply.thought, is_final: true })
        }
        Contract::Typed(descriptor) => {
            let reasoning = reply.reasoning("", Wanted::by(descriptor));
            let answer = checked(bare(&reply.text, descriptor)?, descriptor, signals, &reasoning)?;
            Ok(Reading { answer: Some(answer), calls: Vec::new(), reasoning, is_final: true })
        }
    }
}

fn enveloped(
    contract: &Contract,
    reply: Reply,
    signals: Signals,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Reading, Refused> {
    let opened = match open(&reply, signals, is_known) {
        Ok(opened) => opened,
        // The calls that came as such are run; the text beside them is not worth their results.
        Err(refused) if reply.calls.is_empty() => return Err(refused),
        Err(_) => {
            Opened { is_final: false, answer: Value::Null, calls: Vec::new(), reasoning: String::new() }
        }
    };
    let reasoning = reply.reasoning(&opened.reasoning, Wanted::Object);
    let calls = [reply.calls, opened.calls].concat();
    let is_final = opened.is_final && calls.is_empty();
    let takes_null = matches!(contract, Contract::Typed(descriptor) if descriptor.root.nullable);
    let answer = Some(opened.answer).filter(|answer| is_final && (takes_null || !answer.is_null()));
    let answer = match (answer, contract) {
        (Some(answer), Contract::Typed(descriptor)) => {
            Some(checked(answer, descriptor, signals, &reasoning)?)
        }
        (Some(Value::String(text)), Contract::Text) => Some(Value::String(text)),
        (Some(other), Contract::Text) => return Err(refused(vec![not_text(&other)])),
        (None, Contract::Text | Contract::Typed(_)) => None,
    };
    Ok(Reading { answer, calls, reasoning, is_final })
}

impl Reply {
    fn of(blocks: &[Block]) -> Self {
        let thought = blocks.iter().filter_map(|block| match block {
            Block::Reasoning(reasoning) => Some(reasoning.text.as_str()),
            Block::Text(_)
            | Block::Value(_)
            | Block::Json(_)
            | Block::ToolDefinition(_)
            | Block::Image(_)
            | Block::File(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::RedactedReasoning(_)
            | Block::Skill(_) => None,
        });
        let calls = blocks.iter().filter_map(Block::as_call).cloned().collect();
        Self { text: text_of(blocks), thought: thought.collect::<String>().trim().to_owned(), calls }
    }

    /// Why: what was thought, else what the envelope says, else the words around the JSON.
    fn reasoning(&self, said: &str, wanted: Wanted) -> String {
        if !self.thought.is_empty() {
            return self.thought.clone();
        }
        if !said.trim().is_empty() {
            return said.trim().to_owned();
        }
        let prose = lenient::find(&self.text, wanted).prose;
        // The beginning of JSON that was cut off is no prose either.
        if prose.starts_with(['{', '[']) { String::new() } else { prose }
    }
}

/// Opens the envelope in a reply.
fn open(reply: &Reply, signals: Signals, is_known: &dyn Fn(&str) -> bool) -> Result<Opened, Refused> {
    let json = lenient::find(&reply.text, Wanted::Object).json.ok_or_else(|| single(&ReadError::NoJson))?;
    let value = lenient::parse_json(json).map_err(|error| single(&error))?;
    let everything = Signals { thinking_active: false, ..signals };
    let mut value = lenient::coerce_all(value, &envelope::as_read(everything)).map_err(|e| listed(&e))?;
    let calls = value[TOOL_CALLS].take();
    let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
    let calls = calls.iter().enumerate();
    let calls = calls.map(|(index, call)| minted(call, index, reply.calls.len(), is_known));
    let (calls, wrong): (Vec<_>, Vec<_>) = calls.partition(Result::is_ok);
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).take(ERRORS_MAX).collect();
    if !wrong.is_empty() {
        return Err(refused(wrong));
    }
    Ok(Opened {
        is_final: value[FINAL_ANSWER] == true,
        answer: value[ANSWER].take(),
        calls: calls.into_iter().flatten().collect(),
        reasoning: value[REASONING].as_str().unwrap_or_default().to_owned(),
    })
}

/// A call that was written as text, under an id made of its name and its place in the reply.
fn minted(
    call: &Value,
    index: usize,
    n_before: usize,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<ToolCall, String> {
    let name = call[NAME].as_str().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(format!(
            "{TOOL_CALLS}[{index}].{NAME} is missing: it must be the name of a declared tool"
        ));
    }
    if !is_known(name) {
        return Err(format!("{TOOL_CALLS}[{index}].{NAME} must be the name of a declared tool"));
    }
    let input = match &call[INPUT] {
        Value::Null => "{}".into(),
        // Some models write the arguments as text inside the JSON.
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    };
    Ok(ToolCall { id: format!("{name}#{}", n_before + index + 1), name: name.to_owned(), input })
}

/// The answer in a reply that is nothing else.
fn bare(text: &str, descriptor: &Descriptor) -> Result<Value, Refused> {
    let json = lenient::find(text, Wanted::by(descriptor)).json;
    if !is_wrapped(descriptor) {
        let json = json.ok_or_else(|| single(&ReadError::NoJson))?;
        return lenient::parse_json(json).map_err(|error| single(&error));
    }
    let wrapped = json.map(lenient::parse_json).transpose().map_err(|error| single(&error))?;
    match wrapped {
        Some(Value::Object(mut members)) if members.contains_key(ANSWER) => {
            Ok(members.remove(ANSWER).unwrap_or_default())
        }
        Some(other) => Ok(other),
        // A server that is held to the type's own schema gives the value alone.
        None => lenient::parse_json(text).map_err(|_| single(&ReadError::NoJson)),
    }
}

/// The answer in the form of its type, with all that is required.
fn checked(
    answer: Value,
    descriptor: &Descriptor,
    signals: Signals,
    reasoning: &str,
) -> Result<Value, Refused> {
    let mut asked = Cow::Borrowed(descriptor);
    let own = left_out_reasoning(descriptor, signals);
    if own.is_some() {
        asked = Cow::Owned(with_optional_reasoning(descriptor.clone()));
    }
    let mut answer = lenient::coerce_all(answer, &asked).map_err(|errors| listed(&errors))?;
    let blank = required::blank(&answer, &asked, ERRORS_MAX);
    if !blank.is_empty() {
        let missing = |path| format!("{path} is missing: it must be text that is not blank");
        return Err(refused(blank.into_iter().map(missing).collect()));
    }
    // What was thought stands in for what the model was not asked to write.
    if let (Some(own), Value::Object(members)) = (own, &mut answer)
        && own.required
        && !own.node.nullable
    {
        members.entry(REASONING).or_insert_with(|| reasoning.into());
    }
    Ok(answer)
}

fn with_optional_reasoning(mut descriptor: Descriptor) -> Descriptor {
    if let Shape::Object(object) = &mut descriptor.root.shape {
        let reasoning = object.fields.iter_mut().filter(|field| field.name == REASONING);
        reasoning.for_each(|field| field.required = false);
    }
    descriptor
}

fn not_text(value: &Value) -> String {
    let text = Descriptor { root: Node { shape: Shape::String, ..Node::default() } };
    lenient::coerce(value.clone(), &text).err().map(|error| error.to_string()).unwrap_or_default()
}

fn listed(errors: &[ReadError]) -> Refused {
    refused(errors.iter().map(ToString::to_string).collect())
}

fn single(error: &ReadError) -> Refused {
    refused(vec![error.to_string()])
}

fn refused(violations: Vec<String>) -> Refused {
    Refused { violations }
}
