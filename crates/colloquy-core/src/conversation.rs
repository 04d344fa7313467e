//! A conversation's own settings and their ranges (server reference § 2).

/// The name of a conversation that nobody has named yet.
pub const DEFAULT_NAME: &str = "New Conversation";

/// Longest custom prompt, in code points.
pub const CUSTOM_PROMPT_CHARS_MAX: usize = 4096;

/// Largest `max_tokens` a conversation may hold.
pub const MAX_TOKENS_MAX: u32 = 32_768;

/// How much the model may deliberate before it answers (server reference § 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Answer directly.
    None,
    /// A few lines.
    Low,
    /// What the model does of its own accord.
    #[default]
    Medium,
    /// Step by step, with checks.
    High,
    /// Several angles.
    Xhigh,
}

impl Effort {
    /// All levels, least first.
    pub const ALL: [Self; 5] = [Self::None, Self::Low, Self::Medium, Self::High, Self::Xhigh];

    /// The level's name on the wire and on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What a conversation owns once it is created. Later changes of defaults never reach it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// 0.0 to 2.0.
    pub temperature: f64,
    /// 0.0 to 1.0.
    pub top_p: f64,
    /// 1 to [`MAX_TOKENS_MAX`]; what a turn runs with when no window is known.
    pub max_tokens: u32,
    /// Appended to the persona; at most [`CUSTOM_PROMPT_CHARS_MAX`] code points.
    pub custom_prompt: String,
    /// Whether turns may search the web.
    pub web_search_enabled: bool,
    /// How much the model may deliberate.
    pub reasoning_effort: Effort,
    /// Percent of the working window at which the conversation is compacted: 50 to 90 in steps of 5.
    pub compaction_threshold: u32,
}

/// A setting outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct OutOfRange {
    /// The setting's name on the wire.
    pub field: &'static str,
    /// What it must be, as in "must be between 0 and 2".
    pub rule: &'static str,
}

impl Settings {
    /// Checks every range; returns all that are broken, in the order of the fields.
    pub fn check(&self) -> Vec<OutOfRange> {
        let mut broken = Vec::new();
        let mut rule = |holds: bool, field, rule| {
            if !holds {
                broken.push(OutOfRange { field, rule });
            }
        };
        rule((0.0..=2.0).contains(&self.temperature), "temperature", "must be between 0 and 2");
        rule((0.0..=1.0).contains(&self.top_p), "top_p", "must be between 0 and 1");
        rule((1..=MAX_TOKENS_MAX).contains(&self.max_tokens), "max_tokens", "must be between 1 and 32768");
        rule(
            self.custom_prompt.chars().count() <= CUSTOM_PROMPT_CHARS_MAX,
            "custom_prompt",
            "must be at most 4096 characters long",
        );
        rule(
            (50..=90).contains(&self.compaction_threshold) && self.compaction_threshold.is_multiple_of(5),
            "compaction_threshold",
            "must be a multiple of 5 between 50 and 90",
        );
        broken
    }
}

/// A change of some settings; `None` leaves a setting as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingsChange {
    /// See [`Settings::temperature`].
    pub temperature: Option<f64>,
    /// See [`Settings::top_p`].
    pub top_p: Option<f64>,
    /// See [`Settings::max_tokens`].
    pub max_tokens: Option<u32>,
    /// See [`Settings::custom_prompt`].
    pub custom_prompt: Option<String>,
    /// See [`Settings::web_search_enabled`].
    pub web_search_enabled: Option<bool>,
    /// See [`Settings::reasoning_effort`].
    pub reasoning_effort: Option<Effort>,
    /// See [`Settings::compaction_threshold`].
    pub compaction_threshold: Option<u32>,
}

impl SettingsChange {
    /// The settings with this change.
    pub fn over(self, current: Settings) -> Settings {
        Settings {
            temperature: self.temperature.unwrap_or(current.temperature),
            top_p: self.top_p.unwrap_or(current.top_p),
            max_tokens: self.max_tokens.unwrap_or(current.max_tokens),
            custom_prompt: self.custom_prompt.unwrap_or(current.custom_prompt),
            web_search_enabled: self.web_search_enabled.unwrap_or(current.web_search_enabled),
            reasoning_effort: self.reasoning_effort.unwrap_or(current.reasoning_effort),
            compaction_threshold: self.compaction_threshold.unwrap_or(current.compaction_threshold),
        }
    }

    /// Checks the range of every setting it names; see [`Settings::check`].
    pub fn check(&self) -> Vec<OutOfRange> {
        let in_range = Settings {
            temperature: 0.0,
            top_p: 1.0,
            max_tokens: 1,
            custom_prompt: String::new(),
            web_search_enabled: false,
            reasoning_effort: Effort::Medium,
            compaction_threshold: 50,
        };
        self.clone().over(in_range).check()
    }
}

#[cfg(test)]
mod tests;
