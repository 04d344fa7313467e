//! Where a setting's value comes from, and what a bad one is answered with.
//!
//! Every lookup is recorded, so that `doctor` shows exactly what was used and nothing else.

use std::{
    collections::BTreeSet,
    fmt,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use super::{SETTINGS, SettingFlags};

/// Gives the value of an environment variable.
pub type Environment<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag,
    /// The environment.
    Variable,
    /// The file in the data folder.
    File(PathBuf),
    /// Nobody set it.
    Default,
}

impl Source {
    /// Names the place to change, for a setting.
    fn place(&self, key: &str) -> String {
        match self {
            Self::Flag => format!("--{}", key.replace('_', "-")),
            Self::Variable => variable(key),
            Self::File(path) => format!("`{key}` in {}", path.display()),
            Self::Default => format!("the default of `{key}`"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable => f.write_str("environment"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One setting as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The setting.
    pub key: &'static str,
    /// Its value as text; `None` when it has none. Of a secret only that it is set.
    pub value: Option<String>,
    /// Where it came from.
    pub source: Source,
}

/// Why the settings cannot be used. All of these are wrong usage.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value that is not allowed.
    #[error("{place} must be {allowed}{found}")]
    Invalid {
        /// Where it stands.
        place: String,
        /// What would be right.
        allowed: String,
        /// `, not "…"`; empty for a secret.
        found: String,
    },
    /// A name in the file that is no setting.
    #[error("unknown setting `{key}` in {}; the settings are {known}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The name.
        key: String,
        /// All names there are.
        known: String,
    },
    /// The folder cannot be named in a file that lies in it.
    #[error("`data_dir` cannot be set in {}, which lies in it; use --data-dir or COLLOQUY_DATA_DIR", path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
    },
    /// The file is no TOML.
    #[error("{} is not valid TOML: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser says, with the line.
        reason: String,
    },
    /// The file is there and cannot be read.
    #[error("failed to read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is no home to put a folder into.
    #[error("HOME is not set; name the folder with --{}", key.replace('_', "-"))]
    NoHome {
        /// The setting of the folder.
        key: &'static str,
    },
}

/// The variable of a setting.
fn variable(key: &str) -> String {
    format!("COLLOQUY_{}", key.to_uppercase())
}

/// A value as it was written, always a list: most settings take exactly one.
struct Raw {
    items: Vec<String>,
    source: Source,
}

/// The layers, highest first: flags, environment, file.
pub(super) struct Layers<'a> {
    flags: &'a SettingFlags,
    environment: &'a Environment<'a>,
    file: toml::Table,
    file_path: PathBuf,
    shown: Vec<Shown>,
}

impl<'a> Layers<'a> {
    pub(super) fn new(flags: &'a SettingFlags, environment: &'a Environment<'a>) -> Self {
        Self { flags, environment, file: toml::Table::new(), file_path: PathBuf::new(), shown: Vec::new() }
    }

    /// Reads the file, which may be missing. Names in it that are no settings are refused.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(ConfigError::Unreadable { path: path.into(), source }),
        };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            path: path.into(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        if table.contains_key("data_dir") {
            return Err(ConfigError::Misplaced { path: path.into() });
        }
        let known: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        if let Some(key) = table.keys().find(|key| !known.contains(key.as_str())) {
            let known = known.into_iter().filter(|key| *key != "data_dir").collect::<Vec<_>>().join(", ");
            return Err(ConfigError::Unknown { path: path.into(), key: key.clone(), known });
        }
        self.file = table;
        self.file_path = path.into();
        Ok(())
    }

    /// The record of every lookup, in the order of [`SETTINGS`].
    pub(super) fn into_shown(mut self) -> Vec<Shown> {
        self.shown.sort_by_key(|shown| SETTINGS.iter().position(|setting| setting.key == shown.key));
        self.shown
    }

    /// Records a default that was worked out elsewhere.
    pub(super) fn show_default(&mut self, key: &'static str, value: String) {
        self.shown.retain(|shown| shown.key != key);
        self.show(key, Some(value), Source::Default);
    }

    /// A path, made absolute so that it means the same wherever it is used.
    pub(super) fn path(&mut self, key: &'static str) -> Result<Option<PathBuf>, ConfigError> {
        self.optional(key, "a path", |text| std::path::absolute(text).ok())
    }

    /// A whole number in a range.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let allowed = allowed_number(&range);
        self.parsed(key, &allowed, &default.to_string(), |text| in_range(text, &range))
    }

    /// A whole number in a range, or none.
    pub(super) fn optional_number<N: TryFrom<u64>>(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<N>, ConfigError> {
        let allowed = allowed_number(&range);
        self.optional(key, &allowed, |text| N::try_from(in_range(text, &range)?).ok())
    }

    /// A value with a default, which is written as people would write it.
    pub(super) fn parsed<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        default: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        let raw = self.one(key, allowed)?.unwrap_or((default.to_owned(), Source::Default));
        let (text, source) = raw;
        let value = parse(&text).ok_or_else(|| invalid(key, &source, allowed, &text))?;
        self.show(key, Some(text), source);
        Ok(value)
    }

    /// A list; what the command line adds comes last.
    pub(super) fn list(
        &mut self,
        key: &'static str,
        allowed: &str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, ConfigError> {
        let raw = self.raw(key, allowed)?;
        let mut items = Vec::new();
        let mut source = Source::Default;
        if let Some(raw) = raw {
            items = raw.items;
            source = raw.source;
        }
        let added = self.flags.added(key);
        if !added.is_empty() {
            items.extend_from_slice(added);
            source = Source::Flag;
        }
        if let Some(bad) = items.iter().find(|item| !is_valid(item)) {
            return Err(invalid(key, &source, allowed, bad));
        }
        self.show(key, (!items.is_empty()).then(|| items.join(", ")), source);
        Ok(items)
    }

    /// A secret that can travel in a header. Neither the record nor an error repeats it.
    pub(super) fn secret(&mut self, key: &'static str) -> Result<Option<String>, ConfigError> {
        let allowed = "at least 8 visible ASCII characters without blanks";
        let Some((text, source)) = self.one(key, allowed)? else {
            self.show(key, None, Source::Default);
            return Ok(None);
        };
        if text.len() < 8 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ConfigError::Invalid {
                place: source.place(key),
                allowed: allowed.to_owned(),
                found: String::new(),
            });
        }
        self.show(key, Some("(set)".to_owned()), source);
        Ok(Some(text))
    }

    fn optional<T>(
        &mut self,
        key: &'static str,
        allowed: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, source)) = self.one(key, allowed)? else {
            self.show(key, None, Source::Default);
            return Ok(None);
        };
        let value = parse(&text).ok_or_else(|| invalid(key, &source, allowed, &text))?;
        self.show(key, Some(text), source);
        Ok(Some(value))
    }

    fn show(&mut self, key: &'static str, value: Option<String>, source: Source) {
        self.shown.push(Shown { key, value, source });
    }

    fn one(&self, key: &str, allowed: &str) -> Result<Option<(String, Source)>, ConfigError> {
        let given = self
            .flags
            .value(key)
            .map(|value| (value.to_owned(), Source::Flag))
            .or_else(|| Some((self.variable(key)?, Source::Variable)));
        if given.is_some() {
            return Ok(given);
        }
        let Some(value) = self.file.get(key) else { return Ok(None) };
        let source = Source::File(self.file_path.clone());
        let text = scalar(value).ok_or_else(|| invalid(key, &source, allowed, &value.to_string()))?;
        Ok(Some((text, source)))
    }

    fn raw(&self, key: &str, allowed: &str) -> Result<Option<Raw>, ConfigError> {
        if let Some(toml::Value::Array(items)) = self.file.get(key)
            && self.flags.value(key).is_none()
            && self.variable(key).is_none()
        {
            let source = Source::File(self.file_path.clone());
            let items = items
                .iter()
                .map(|item| scalar(item).ok_or_else(|| invalid(key, &source, allowed, &item.to_string())))
                .collect::<Result<_, _>>()?;
            return Ok(Some(Raw { items, source }));
        }
        let one = self.one(key, allowed)?;
        Ok(one.map(|(text, source)| Raw {
            items: text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(str::to_owned)
                .collect(),
            source,
        }))
    }

    /// An empty variable counts as unset: that is how shells and unit files clear one.
    fn variable(&self, key: &str) -> Option<String> {
        (self.environment)(&variable(key)).filter(|value| !value.is_empty())
    }
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => None,
    }
}

fn in_range(text: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    text.trim().parse().ok().filter(|number| range.contains(number))
}

fn allowed_number(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn invalid(key: &str, source: &Source, allowed: &str, found: &str) -> ConfigError {
    ConfigError::Invalid {
        place: source.place(key),
        allowed: allowed.to_owned(),
        found: format!(", not {found:?}"),
    }
}
