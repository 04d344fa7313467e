//! The objective of a plain chat, one slot: the persona of the model's tier, then the starred
//! messages, then the custom prompt, joined by single newlines (server reference § 10).
//!
//! The persona is ours and holds no control token. Everything after it is somebody's text; its
//! control tokens are broken where the head is rendered, across its seams too.

/// The slot that holds it.
pub const INSTRUCTIONS_SLOT: &str = "instructions";

/// The parts of the objective of a plain chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveParts<'a> {
    /// Picks the persona.
    pub tier: Tier,
    /// The custom prompt of the turn, may be empty.
    pub custom_prompt: &'a str,
    /// Texts of the starred messages, oldest first.
    pub starred: &'a [String],
}

/// How capable a model is, by its parameter count; decides how long its persona is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Up to 2 billion parameters, or unknown.
    Tiny,
    /// Up to 4.
    Small,
    /// Under 8.
    Medium,
    /// Up to 16.
    Large,
    /// Above.
    Xlarge,
}

impl Tier {
    /// The tier of a model with that many billions of parameters.
    pub fn of(param_billions: Option<f64>) -> Self {
        match param_billions {
            None => Self::Tiny,
            Some(billions) if billions <= 2.0 => Self::Tiny,
            Some(billions) if billions <= 4.0 => Self::Small,
            Some(billions) if billions < 8.0 => Self::Medium,
            Some(billions) if billions <= 16.0 => Self::Large,
            Some(billions) if billions > 16.0 => Self::Xlarge,
            // Not a number tells as little as no number.
            Some(_) => Self::Tiny,
        }
    }

    /// The tier's name in logs and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Xlarge => "xlarge",
        }
    }

    /// Tokens of retrieved text that a model of this tier is given at most.
    pub fn kb_token_budget(self) -> u32 {
        match self {
            Self::Tiny => 400,
            Self::Small => 700,
            Self::Medium => 1000,
            Self::Large => 1400,
            Self::Xlarge => 2000,
        }
    }

    /// Who the model is asked to be. Each tier says what the one below says, and more: a small
    /// model follows a short text better than a long one.
    pub fn persona(self) -> &'static str {
        match self {
            Self::Tiny => TINY,
            Self::Small => SMALL,
            Self::Medium => MEDIUM,
            Self::Large | Self::Xlarge => LARGE,
        }
    }
}

/// Renders the objective of a plain chat.
pub fn render_objective(parts: &ObjectiveParts<'_>) -> String {
    let mut text = parts.tier.persona().to_owned();
    text.push_str(&theirs(parts.starred, parts.custom_prompt));
    text
}

/// What follows the persona, each part on a line of its own; empty when there is nothing.
fn theirs(starred: &[String], custom_prompt: &str) -> String {
    let mut text = String::new();
    if !starred.is_empty() {
        text.push_str(STARRED_HEADING);
        for point in starred {
            text.push_str("\n- ");
            text.push_str(point);
        }
    }
    if !custom_prompt.trim().is_empty() {
        text.push('\n');
        text.push_str(custom_prompt);
    }
    text
}

const STARRED_HEADING: &str = "\nImportant points from the conversation so far:";

const TINY: &str = concat!(
    "You are a helpful assistant. ",
    "Reply in plain sentences, in the language of the user, and stop when the point is made."
);

const SMALL: &str = concat!(
    "You are a helpful assistant. ",
    "Reply in plain sentences, in the language of the user, and stop when the point is made. ",
    "Give the answer first and its reasons after it. Use a list only where the content is one."
);

const MEDIUM: &str = concat!(
    "You are a helpful assistant. ",
    "Reply in plain sentences, in the language of the user, and stop when the point is made. ",
    "Give the answer first and its reasons after it. Use a list only where the content is one. ",
    "Say so when you are not sure or do not know, and never invent a fact, a name or a source. ",
    "Code that you write is complete: it runs as it stands."
);

const LARGE: &str = concat!(
    "You are a helpful assistant. ",
    "Reply in plain sentences, in the language of the user, and stop when the point is made. ",
    "Give the answer first and its reasons after it. Use a list only where the content is one. ",
    "Say so when you are not sure or do not know, and never invent a fact, a name or a source. ",
    "Code that you write is complete: it runs as it stands. ",
    "Where informed people differ, or where the answer turns on a detail that was not given, say what it ",
    "turns on and what follows in each case. Match the depth of the answer to the depth of the question."
);

#[cfg(test)]
mod tests;
