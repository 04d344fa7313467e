//! A JSON reader that takes what models write: comments, trailing commas, quotes of any kind,
//! names without quotes, escapes that JSON does not have, raw control characters in texts,
//! typographic punctuation between them. What it reads has one meaning; anything else is refused.

mod string;

use serde_json::{Map, Number, Value};

use super::DEPTH_MAX;

/// Words that are values. What is no number in JSON reads as `null`, as JSON writers write it.
const WORDS: [(&str, Value); 9] = [
    ("true", Value::Bool(true)),
    ("True", Value::Bool(true)),
    ("false", Value::Bool(false)),
    ("False", Value::Bool(false)),
    ("null", Value::Null),
    ("None", Value::Null),
    ("NaN", Value::Null),
    ("Infinity", Value::Null),
    ("undefined", Value::Null),
];

struct Parser<'a> {
    /// What has not been read.
    rest: &'a str,
    /// Length of the whole text, in bytes.
    n_bytes: usize,
    depth: usize,
}

/// Reads a text that is one value. The error says what is wrong and where, not what stands there.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut parser = Parser { rest: text, n_bytes: text.len(), depth: 0 };
    let value = parser.value()?;
    match parser.peek()? {
        None => Ok(value),
        Some(_) => Err(parser.wrong("there is more after the end")),
    }
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Result<Value, String> {
        match self.peek()? {
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some(quote) if string::closers(quote).is_some() => self.string().map(Value::String),
            Some('-' | '+' | '.' | '−' | '–' | '0'..='9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.wrong("a value is missing")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        if self.depth == DEPTH_MAX {
            return Err(self.wrong(&format!("it is nested more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        self.bump();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut members = Map::new();
        loop {
            if self.eat(&['}'])? {
                return Ok(Value::Object(members));
            }
            let name = self.name()?;
            if !self.eat(&[':', ':'])? {
                return Err(self.wrong("a colon is missing after a name"));
            }
            members.insert(name, self.value()?);
            self.separator('}')?;
        }
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            if self.eat(&[']'])? {
                return Ok(Value::Array(items));
            }
            items.push(self.value()?);
            self.separator(']')?;
        }
    }

    /// A comma, or the end that comes next.
    fn separator(&mut self, end: char) -> Result<(), String> {
        if self.eat(&[',', ',', '、'])? || self.peek()? == Some(end) {
            return Ok(());
        }
        Err(self.wrong(&format!("a comma or {end} is missing")))
    }

    fn name(&mut self) -> Result<String, String> {
        if self.peek()?.is_some_and(|first| string::closers(first).is_some()) {
            return self.string();
        }
        let name = self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '@' | '-'));
        if name.is_empty() { Err(self.wrong("a name is missing")) } else { Ok(name.to_owned()) }
    }

    fn word(&mut self) -> Result<Value, String> {
        let word = self.take_while(char::is_alphanumeric);
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, value)| value.clone()).ok_or_else(|| self.wrong("a text without quotes stands there"))
    }

    fn number(&mut self) -> Result<Value, String> {
        let written = self.take_while(|c| c.is_ascii_digit() || "+-.eE−–".contains(c));
        let plain = written.replace(['−', '–'], "-");
        let plain = plain.strip_prefix('+').unwrap_or(&plain);
        if matches!(plain, "" | "-") && self.rest.starts_with("Infinity") {
            return self.word();
        }
        if plain != "-0" {
            if let Ok(whole) = plain.parse::<i64>() {
                return Ok(whole.into());
            }
            if let Ok(whole) = plain.parse::<u64>() {
                return Ok(whole.into());
            }
        }
        let number = plain.parse::<f64>().ok().and_then(Number::from_f64);
        number.map(Value::Number).ok_or_else(|| self.wrong("a number cannot be read"))
    }

    fn string(&mut self) -> Result<String, String> {
        let (text, rest) = string::read(self.rest).ok_or_else(|| self.wrong("a text has no end"))?;
        self.rest = rest;
        Ok(text)
    }

    /// The next character that is neither space nor comment.
    fn peek(&mut self) -> Result<Option<char>, String> {
        loop {
            self.rest = self.rest.trim_start_matches(is_space);
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.split_once("*/");
                self.rest = end.ok_or_else(|| self.wrong("a comment has no end"))?.1;
            } else {
                return Ok(self.rest.chars().next());
            }
        }
    }

    fn eat(&mut self, wanted: &[char]) -> Result<bool, String> {
        let is_there = self.peek()?.is_some_and(|next| wanted.contains(&next));
        if is_there {
            self.bump();
        }
        Ok(is_there)
    }

    fn bump(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn wrong(&self, what: &str) -> String {
        format!("{what}, at byte {} of {}", self.n_bytes - self.rest.len(), self.n_bytes)
    }
}

/// Spaces of any kind, and what is invisible.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}
