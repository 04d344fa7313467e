//! One call of the model: prepare what it sees, stream what it says to the reader, read what the
//! whole of it comes to.

use std::{sync::Arc, time::Duration};

use colloquy_core::{
    artifact::Violation,
    contract::{Contract, Reading, Refused, Signals},
    head::Notation,
    message::{FinishReason, Message, Usage},
    prepare::{Audience, PreparedConversation, Tail},
    retry::{self, Passing},
    sampling::{self, SamplingDefaults},
    seat::{self, Allowance, Layers, ModelSpec, Thinking},
    turn::{Failure, Said, SamplePlan, Sampled, TurnEvent},
};
use futures::StreamExt;
use serde_json::Value;

use super::{
    Work,
    append::Step,
    failed, internal_failure,
    reply::{Reply, Telling},
};
use crate::{
    ports::{CallOptions, ModelCall, ModelChunk, ModelError, Opened, ResponseFormat, Sampling, ToolChoice},
    service::{Instance, lock_instance},
    stream::{Progress, StreamEvent, Withdrawn},
};

/// How a turn asks its model.
pub(crate) struct Request {
    pub(crate) expected: Expected,
    pub(crate) sampling: Sampling,
    pub(crate) budget: Budget,
    /// Whether the first step has to call a tool.
    pub(crate) requires_tool: bool,
    /// The pause before a second try, in milliseconds.
    pub(crate) retry_pause_ms: u64,
    /// Resolved once the engine is open.
    pub(crate) allowance: Option<Allowance>,
}

/// What is expected of an answer.
#[derive(Clone)]
pub(crate) struct Expected {
    pub(crate) contract: Contract,
    /// Whether the asker's own type takes the value; says what is wrong, not what was written.
    pub(crate) check: fn(&Value) -> Result<(), String>,
}

impl Expected {
    /// Prose.
    pub(crate) fn text() -> Self {
        Self { contract: Contract::Text, check: |_| Ok(()) }
    }
}

/// How large an answer may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// The server's: pinned by its operator, or left to the engine.
    Pinned(Option<u32>),
    /// A program's: what the request, the conversation and the binding declare.
    Declared(Layers),
}

impl Request {
    /// Resolves what a call is given; whether a cut answer may be asked for with more.
    pub(super) fn allow(&mut self, spec: &ModelSpec, has_tools: bool) -> Result<bool, Failure> {
        let Budget::Declared(layers) = &self.budget else {
            return Ok(false);
        };
        let allowance = seat::resolve(layers, spec, has_tools).map_err(|undeclared| {
            tracing::error!(error = &undeclared as &dyn std::error::Error, "a turn has no budget");
            Failure::Internal
        })?;
        self.allowance = Some(allowance);
        Ok(allowance.ceiling.is_some_and(|ceiling| ceiling > allowance.reserve))
    }

    pub(super) fn signals(&self, spec: &ModelSpec, has_tools: bool) -> Signals {
        let thinking_active = self.allowance.is_some_and(|allowance| allowance.thinking_active);
        Signals { tools: spec.tools, has_tools, thinking_active }
    }

    /// Whether a model of that kind must know the schema notation.
    pub(crate) fn notation(&self, spec: &ModelSpec, has_tools: bool) -> Notation {
        if self.expected.contract.uses_notation(self.signals(spec, has_tools)) {
            Notation::Used
        } else {
            Notation::Unused
        }
    }
}

impl Work {
    /// Streams one call and says what it came to.
    pub(super) async fn sample(&mut self, plan: SamplePlan) -> TurnEvent {
        if plan.anew {
            self.withdraw(Withdrawn::Nothing);
        }
        if let Some(passing) = plan.after {
            self.pause(plan.attempt, passing).await;
        }
        let Some((call, signals)) = self.call(plan) else { return internal_failure() };
        let streams = self.request.expected.contract.streams(signals);
        self.reply = Reply::new(if streams { Telling::Live } else { Telling::AtTheEnd });
        self.running.log.begin_step();
        let Some(model) = self.opened.as_ref().map(|opened| Arc::clone(&opened.model)) else {
            return internal_failure();
        };
        let mut chunks = match model.call(call).await {
            Ok(chunks) => chunks,
            Err(ModelError(failure)) => return failed(failure),
        };
        let mut after_first_chunk = false;
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(ModelChunk::Reading { done, total }) => {
                    self.tell([StreamEvent::Progress(Progress::Reading { done, total })]);
                    continue;
                }
                Ok(ModelChunk::Text(text)) => {
                    let events = self.reply.text(&text);
                    self.tell(events);
                }
                Ok(ModelChunk::Reasoning(text)) => {
                    let event = self.reply.reasoning(text);
                    self.tell([event]);
                }
                Ok(ModelChunk::ReasoningSignature(signature)) => self.reply.signature(signature),
                Ok(ModelChunk::RedactedReasoning(data)) => self.reply.redacted(data),
                Ok(ModelChunk::ToolCall(call)) => self.reply.call(call),
                Ok(ModelChunk::End { finish_reason, usage }) => {
                    self.flush();
                    return self.ended(signals, finish_reason, usage);
                }
                Err(ModelError(failure)) => return TurnEvent::Failed { failure, after_first_chunk },
            }
            after_first_chunk = true;
        }
        let detail = "the connection closed before the answer ended".into();
        TurnEvent::Failed { failure: Failure::Transient { detail }, after_first_chunk }
    }

    /// Waits before a further try; a reader is told where it takes longer than a moment.
    async fn pause(&self, attempt: u32, passing: Passing) {
        let draw = self.shared.ids.uid().0.iter().fold(0, |draw: u64, byte| draw << 4 ^ u64::from(*byte));
        let pause = retry::pause_before(attempt, passing, draw, self.request.retry_pause_ms);
        if pause >= Duration::from_secs(1) {
            self.tell([StreamEvent::Progress(Progress::Waiting)]);
        }
        tokio::time::sleep(pause).await;
    }

    /// Tells what the reply still holds back.
    pub(super) fn flush(&mut self) {
        let events = self.reply.flush();
        self.tell(events);
    }

    pub(super) fn tell(&self, events: impl IntoIterator<Item = StreamEvent>) {
        for event in events {
            self.running.log.push(event);
        }
    }

    /// Takes back the answer text that was told of the step at hand, if any was.
    pub(super) fn withdraw(&self, to: Withdrawn) {
        if let Some(from_seq) = self.running.log.first_answer_of_step() {
            self.tell([StreamEvent::Withdraw { from_seq, to }]);
            self.running.log.begin_step();
        }
    }

    /// What a call that ended by itself said, read by the contract.
    fn ended(&mut self, signals: Signals, finish_reason: FinishReason, usage: Usage) -> TurnEvent {
        let has_text = self.reply.has_text();
        let sampled = |said| Sampled { said, has_text, finish_reason, usage };
        let nothing = if self.reply.has_reasoning() { Said::Reasoning } else { Said::Nothing };
        if !has_text && self.reply.n_calls() == 0 {
            self.said = Some(Step::of_reply(&self.reply, sampled(nothing)));
            return TurnEvent::Sampled(sampled(nothing));
        }
        let read = {
            let instance = lock_instance(&self.instance);
            self.read(&instance, signals)
        };
        let (said, step) = match read {
            // A wire that takes no calls in a closing step may still give one; the core decides.
            Ok(reading) if !reading.calls.is_empty() => {
                (Said::Calls, Step::of_calls(&self.reply, &reading, sampled(Said::Calls)))
            }
            Ok(reading) => match reading.answer {
                Some(_) => (Said::Answer, Step::of_answer(&self.reply, reading, sampled(Said::Answer))),
                None => (nothing, Step::of_reply(&self.reply, sampled(nothing))),
            },
            Err(refused) => {
                let detail = refused.to_string();
                self.said = Some(Step::refused(&self.reply, refused, sampled(Said::Answer)));
                return TurnEvent::OffContract { sampled: sampled(Said::Answer), detail };
            }
        };
        self.said = Some(step);
        TurnEvent::Sampled(sampled(said))
    }

    /// Reads the reply: the contract, then the registry's own artifacts, then the asker's type.
    fn read(&self, instance: &Instance, signals: Signals) -> Result<Reading, Refused> {
        let Expected { contract, check } = &self.request.expected;
        let is_known = |name: &str| instance.tool(name).is_some();
        let mut reading = contract.read(&self.reply.blocks(), signals, &is_known)?;
        if !reading.calls.is_empty() {
            return Ok(reading);
        }
        if let (Some(answer), Contract::Typed(descriptor)) = (&mut reading.answer, contract) {
            instance.registry.gate(answer, descriptor).map_err(|violations| Refused {
                violations: violations.iter().map(Violation::to_string).collect(),
            })?;
            check(answer).map_err(|why| Refused { violations: vec![why] })?;
        }
        Ok(reading)
    }

    /// The call that `plan` makes, and the signals under which its reply is read.
    fn call(&mut self, plan: SamplePlan) -> Option<(ModelCall, Signals)> {
        let opened = self.opened.as_ref()?;
        let mut instance = lock_instance(&self.instance);
        let signals = self.request.signals(&opened.spec, instance.has_tools());
        // What is asked of the thinking decides what the contract leaves out.
        let thinking_active = signals.thinking_active && !plan.thinking_off;
        let signals = Signals { thinking_active, ..signals };
        let contract = &self.request.expected.contract;
        let audience = Audience {
            control_tokens: Arc::clone(&opened.control_tokens),
            origin: self.origin(),
            cache_system: instance.cache_system,
        };
        let prepared =
            prepare(&mut instance, &self.branch, &audience, contract.instructions(signals).as_deref());
        let choice = match plan.closing_step {
            true => ToolChoice::None,
            false if self.request.requires_tool && self.step == 0 && signals.has_tools => {
                ToolChoice::Required
            }
            false => ToolChoice::Auto,
        };
        let options = CallOptions {
            max_tokens: self.max_tokens(plan),
            window_tokens: opened.spec.context_window,
            thinking: self.thinking(plan),
            tool_choice: choice,
            response_format: response_format(contract, opened, signals, &prepared, choice),
        };
        Some((ModelCall { prepared, sampling: self.request.sampling, options }, signals))
    }

    fn max_tokens(&self, plan: SamplePlan) -> Option<u32> {
        match (self.request.budget, self.request.allowance) {
            (Budget::Pinned(pin), _) => pin,
            (Budget::Declared(_), Some(allowance)) if plan.escalated => allowance.ceiling,
            (Budget::Declared(_), allowance) => allowance.map(|allowance| allowance.reserve),
        }
    }

    fn thinking(&self, plan: SamplePlan) -> Thinking {
        if plan.thinking_off {
            return Thinking::Off;
        }
        self.request.allowance.map_or(Thinking::Unset, |allowance| allowance.thinking)
    }
}

fn prepare(
    instance: &mut Instance,
    branch: &[Message],
    audience: &Audience,
    instructions: Option<&str>,
) -> PreparedConversation {
    let Instance { head, preparer, registry, types, .. } = instance;
    let dump = registry.dump(types);
    let tail = Tail { instructions, registry: dump.as_deref() };
    preparer.prepare(&head.render(&audience.control_tokens), branch, audience, tail)
}

/// A server that can be held to a schema is, unless it is offered tools: engines refuse both.
fn response_format(
    contract: &Contract,
    opened: &Opened,
    signals: Signals,
    prepared: &PreparedConversation,
    choice: ToolChoice,
) -> Option<ResponseFormat> {
    if !opened.spec.json_schema {
        return None;
    }
    let schema = contract.reply_schema(signals, &prepared.all_tools(), choice)?;
    let name = match contract {
        Contract::Typed(descriptor) if !descriptor.name().is_empty() => descriptor.name(),
        Contract::Typed(_) | Contract::Text => "reply",
    };
    Some(ResponseFormat { name: name.to_owned(), schema })
}

/// The sampling defaults of a model, from the `generation_config` its author wrote.
pub(crate) fn defaults_of(generation_config: Option<&str>, context_window: Option<u32>) -> SamplingDefaults {
    let config = generation_config.and_then(|text| serde_json::from_str(text).ok());
    sampling::resolve(config.as_ref(), context_window, None)
}
