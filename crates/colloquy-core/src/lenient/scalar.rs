//! Values without parts: what is taken for what. `None` is a refusal; there is no guess.

use serde_json::{Number, Value};

use super::date;
use crate::schema::Shape;

/// 2^53: below it a float holds each whole number, from it on it may stand for a neighbour.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a value stands for nothing in its place: `null`, or a blank text where no text is meant.
pub(super) fn is_absent(value: &Value, shape: &Shape) -> bool {
    let takes_blank = !matches!(shape, Shape::Integer { .. } | Shape::Number | Shape::Date | Shape::DateTime);
    value.is_null() || !takes_blank && value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The value as its place takes it.
pub(super) fn coerce(value: &Value, shape: &Shape) -> Option<Value> {
    match shape {
        Shape::String => value.as_str().map(Value::from),
        Shape::Date => date::day(value).map(Value::from),
        Shape::DateTime => date::moment(value).map(Value::from),
        Shape::Integer { min, max } => integer(value, *min..=*max).map(Value::Number),
        Shape::Number => number(value).map(Value::Number),
        Shape::Boolean => boolean(value).map(Value::Bool),
        Shape::Enum(values) => one_of(value, values).map(Value::from),
        Shape::Any
        | Shape::Array(_)
        | Shape::Map(_)
        | Shape::Object(_)
        | Shape::Reference(_)
        | Shape::Artifact { .. } => None,
    }
}

fn boolean(value: &Value) -> Option<bool> {
    if let Some(number) = value.as_number() {
        return match number.as_f64()? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        };
    }
    let Some(text) = value.as_str() else { return value.as_bool() };
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

fn integer(value: &Value, range: std::ops::RangeInclusive<i128>) -> Option<Number> {
    let whole = match value.as_str() {
        Some(text) => {
            let text = text.trim();
            let read = text.parse::<i128>().ok();
            read.or_else(|| text.parse::<f64>().ok().and_then(whole))?
        }
        None => {
            let number = value.as_number()?;
            number.as_i128().or_else(|| number.as_f64().and_then(whole))?
        }
    };
    if range.contains(&whole) { Number::from_i128(whole) } else { None }
}

/// The whole number that a float is.
fn whole(float: f64) -> Option<i128> {
    let is_whole = float.fract() == 0.0 && float.abs() < EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
    is_whole.then_some(float as i128)
}

fn number(value: &Value) -> Option<Number> {
    let Some(text) = value.as_str() else { return value.as_number().cloned() };
    let text = text.trim();
    let whole = text.parse::<i128>().ok().and_then(Number::from_i128);
    whole.or_else(|| Number::from_f64(text.parse().ok()?))
}

/// The value of an enum that a text names, exactly or but for its case, or the one that the texts
/// of an object name.
fn one_of<'a>(value: &Value, values: &'a [String]) -> Option<&'a str> {
    match value {
        Value::String(text) => named(text, values),
        Value::Object(members) => {
            let texts = members.values().filter_map(Value::as_str);
            only(texts.filter_map(|text| named(text, values)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn named<'a>(text: &str, values: &'a [String]) -> Option<&'a str> {
    let text = text.trim();
    let exact = values.iter().find(|value| *value == text);
    let folded = text.to_lowercase();
    let same = || only(values.iter().map(String::as_str).filter(|value| value.to_lowercase() == folded));
    exact.map(String::as_str).or_else(same)
}

/// The one thing that all of `found` are.
fn only<'a>(mut found: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}
