//! What a scripted model does in one call, and how its engine opens.

use std::collections::VecDeque;

use colloquy::ports::LoadNotice;
use colloquy_core::{
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
            predicted_tokens: None,
            prompt_tokens: Some(20),
            reused_tokens: Some(10),
            output_tokens: Some(5),
        };
        self.then(Step::End { finish_reason, usage })
    }

    pub(super) fn into_steps(self) -> VecDeque<Step> {
        self.steps
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
