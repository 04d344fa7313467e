//! What a scripted model does in one call, and how its engine opens.

use std::{collections::VecDeque, fmt, sync::Arc};

use colloquy::ports::{LoadNotice, ModelCall};
use colloquy_core::{
    block::ToolCall,
    message::{FinishReason, Usage},
    turn::Failure,
};

use crate::gate::Gate;

/// One thing a scripted model does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Says a piece of its answer.
    Text(String),
    /// Says a piece of its reasoning.
    Reasoning(String),
    /// Proves the reasoning that came before.
    ReasoningSignature(String),
    /// Reasons without saying what.
    RedactedReasoning(String),
    /// Calls a tool.
    ToolCall(ToolCall),
    /// Reports how much of the prompt it has read.
    Reading {
        /// Tokens read.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// Waits until the test opens the gate.
    Pause(Gate),
    /// Ends the call; what follows is not done.
    End {
        /// Why.
        finish_reason: FinishReason,
        /// What it cost.
        usage: Usage,
    },
    /// Fails; what follows is not done.
    Fail(Failure),
    /// Says nothing more and does not end.
    Hang,
    /// Does what a script does that is chosen by what the model was asked.
    Choose(Chooser),
}

/// Chooses a script by what the model was asked. Only a clone of it is equal to it.
#[derive(Clone)]
pub struct Chooser(Arc<dyn Fn(&ModelCall) -> Script + Send + Sync>);

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chooser").finish_non_exhaustive()
    }
}

impl PartialEq for Chooser {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What one call does, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    steps: VecDeque<Step>,
}

impl Script {
    /// A call that does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call that says `text`, word by word, and stops.
    pub fn answer(text: &str) -> Self {
        Self::new().words(text).stop()
    }

    /// A call that fails at once.
    pub fn fail(failure: Failure) -> Self {
        Self::new().then(Step::Fail(failure))
    }

    /// A call that does what `choose` says to what the model was asked, once it is asked.
    pub fn from_call(choose: impl Fn(&ModelCall) -> Self + Send + Sync + 'static) -> Self {
        Self::new().then(Step::Choose(Chooser(Arc::new(choose))))
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    /// Adds `text` as one piece of the answer.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.then(Step::Text(text.into()))
    }

    /// Adds `text` as one piece per word, each with the spaces before it.
    #[must_use]
    pub fn words(self, text: &str) -> Self {
        split_words(text).into_iter().fold(self, Self::text)
    }

    /// Adds `text` as one piece of reasoning.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.then(Step::Reasoning(text.into()))
    }

    /// Adds `text` as one piece of reasoning, and its proof.
    #[must_use]
    pub fn signed_reasoning(self, text: &str, signature: &str) -> Self {
        self.reasoning(text).then(Step::ReasoningSignature(signature.into()))
    }

    /// Adds reasoning that only its provider can read.
    #[must_use]
    pub fn redacted(self, data: &str) -> Self {
        self.then(Step::RedactedReasoning(data.into()))
    }

    /// Adds a call of the tool `name`; `input` need not be JSON, as with a real model. A call that
    /// was cut off is followed by [`Self::finish`] with [`FinishReason::Length`].
    #[must_use]
    pub fn call(self, id: &str, name: &str, input: &str) -> Self {
        self.then(Step::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into() }))
    }

    /// Waits at `gate`.
    #[must_use]
    pub fn pause(self, gate: &Gate) -> Self {
        self.then(Step::Pause(gate.clone()))
    }

    /// Ends by itself, with a usage that is the same every time.
    #[must_use]
    pub fn stop(self) -> Self {
        self.finish(FinishReason::Stop)
    }

    /// Ends for that reason, with a usage that is the same every time.
    #[must_use]
    pub fn finish(self, finish_reason: FinishReason) -> Self {
        let usage = Usage {
            prompt_tokens: Some(20),
            reused_tokens: Some(10),
            output_tokens: Some(5),
            ..Usage::default()
        };
        self.then(Step::End { finish_reason, usage })
    }

    /// The steps that it takes for `call`: what is to be chosen is chosen.
    pub(super) fn steps_for(self, call: &ModelCall) -> VecDeque<Step> {
        let mut steps = VecDeque::with_capacity(self.steps.len());
        for step in self.steps {
            match step {
                Step::Choose(Chooser(choose)) => steps.extend(choose(call).steps_for(call)),
                Step::Text(_)
                | Step::Reasoning(_)
                | Step::ReasoningSignature(_)
                | Step::RedactedReasoning(_)
                | Step::ToolCall(_)
                | Step::Reading { .. }
                | Step::Pause(_)
                | Step::End { .. }
                | Step::Fail(_)
                | Step::Hang => steps.push_back(step),
            }
        }
        steps
    }
}

/// How an engine opens: what it tells, where it waits, and whether it fails. Ready by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Opening {
    /// Told at once, in order.
    pub notices: Vec<LoadNotice>,
    /// Waited for before it is ready or fails.
    pub gate: Option<Gate>,
    /// Why it does not start.
    pub failure: Option<Failure>,
}

/// The words of `text`, each with the white space before it, so that joined they are `text`.
pub(crate) fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (index, c) in text.char_indices() {
        if c.is_whitespace() && in_word {
            words.push(&text[start..index]);
            start = index;
        }
        in_word = !c.is_whitespace();
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}
