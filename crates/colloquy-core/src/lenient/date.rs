//! Days and moments from what models write. The year comes first, or the month has a name; a text
//! that could mean two days is refused.

use std::fmt;

use serde_json::Value;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl Day {
    /// A day of the calendar.
    fn of(year: u32, month: u32, day: u32) -> Option<Self> {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let is_day = year <= 9_999 && (1..=12).contains(&month) && (1..=days).contains(&day);
        let (year, month, day) = (year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
        is_day.then_some(Self { year, month, day })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// `YYYY-MM-DD` from a text, from a text of a moment, or from `[year, month, day, …]`.
pub(super) fn day(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let (day, time) = split(text.trim())?;
            time_of_day(time)?;
            Some(day.to_string())
        }
        Value::Array(parts) => {
            let (day, _) = of_numbers(parts)?;
            Some(day.to_string())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// RFC 3339 from a text or from `[year, month, day, hour, minute, …]`. A day alone is its start,
/// and a time without a zone is UTC.
pub(super) fn moment(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let (day, time) = split(text.trim())?;
            Some(format!("{day}T{}", time_of_day(time)?))
        }
        Value::Array(parts) => {
            let (day, time) = of_numbers(parts)?;
            Some(format!("{day}T{time}"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The day at the start of a text, and the rest.
fn split(text: &str) -> Option<(Day, &str)> {
    by_number(text).or_else(|| by_name(text))
}

/// `2024-03-01`, `2024/3/1` or `2024.3.1`.
fn by_number(text: &str) -> Option<(Day, &str)> {
    let (year, rest) = digits(text).filter(|_| text.get(..4).is_some_and(is_digits))?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.'))?;
    let (month, rest) = digits(&rest[1..])?;
    let (day, rest) = digits(rest.strip_prefix(separator)?)?;
    Some((Day::of(year, month, day)?, rest))
}

/// `March 1, 2024`, `1 March 2024` or `1st of Mar 2024`.
fn by_name(text: &str) -> Option<(Day, &str)> {
    let (first, rest) = word(text);
    let (second, rest) = word(rest);
    let (second, rest) = if second.eq_ignore_ascii_case("of") { word(rest) } else { (second, rest) };
    let (month, day) = match (month(first), month(second)) {
        (Some(month), None) => (month, second),
        (None, Some(month)) => (month, first),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let rest = rest.trim_start();
    let (year, rest) = digits(rest).filter(|_| rest.get(..4).is_some_and(is_digits))?;
    Some((Day::of(year, month, day.parse().ok()?)?, rest))
}

fn month(word: &str) -> Option<u32> {
    let word = word.to_ascii_lowercase();
    let found = MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(&word))?;
    u32::try_from(found + 1).ok()
}

/// The time behind a day, with its zone: `T10:00:00Z` as `10:00:00Z`. No time is the day's start.
fn time_of_day(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("00:00:00Z".into());
    }
    let text = text.strip_prefix(['T', 't', ' ']).map(str::trim_start)?;
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, part)| (clock, Some(part)));
    let parts: Vec<&str> = clock.split(':').collect();
    let (hour, minute, second) = match parts[..] {
        [hour, minute] if fraction.is_none() => (hour, minute, "00"),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let fraction = match fraction {
        Some(part) if is_digits(part) => format!(".{part}"),
        Some(_) => return None,
        None => String::new(),
    };
    let (hour, minute, second) = (bounded(hour, 23)?, bounded(minute, 59)?, bounded(second, 60)?);
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}{}", offset(zone.trim())?))
}

/// `Z`, `+01:00`, `+0100` or `UTC`.
fn offset(zone: &str) -> Option<String> {
    if ["", "z", "utc", "gmt"].contains(&zone.to_ascii_lowercase().as_str()) {
        return Some("Z".into());
    }
    let sign = zone.chars().next().filter(|c| matches!(c, '+' | '-'))?;
    let plain = zone[1..].replace(':', "");
    let (hour, minute) = plain.split_at_checked(2)?;
    Some(format!("{sign}{:02}:{:02}", bounded(hour, 23)?, bounded(minute, 59)?))
}

/// `[year, month, day]` or `[year, month, day, hour, minute(, second(, nanosecond))]`.
fn of_numbers(parts: &[Value]) -> Option<(Day, String)> {
    let numbers: Option<Vec<u32>> = parts.iter().map(|part| u32::try_from(part.as_u64()?).ok()).collect();
    let numbers = numbers?;
    let (day, time) = match numbers[..] {
        [year, month, day] => (Day::of(year, month, day)?, [0; 4]),
        [year, month, day, hour, minute] => (Day::of(year, month, day)?, [hour, minute, 0, 0]),
        [year, month, day, hour, minute, second] => (Day::of(year, month, day)?, [hour, minute, second, 0]),
        [year, month, day, hour, minute, second, nano] => {
            (Day::of(year, month, day)?, [hour, minute, second, nano])
        }
        _ => return None,
    };
    let [hour, minute, second, nano] = time;
    let is_time = hour <= 23 && minute <= 59 && second <= 60 && nano < 1_000_000_000;
    let fraction = if nano == 0 { String::new() } else { format!(".{nano:09}") };
    is_time.then(|| (day, format!("{hour:02}:{minute:02}:{second:02}{fraction}Z")))
}

/// The number at the start of a text, of at most four digits.
fn digits(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|_| end <= 4)?;
    Some((number, &text[end..]))
}

/// The word at the start of a text, without the comma or full stop behind it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word.trim_end_matches([',', '.']), rest)
}

fn bounded(digits: &str, most: u8) -> Option<u8> {
    let number = digits.parse().ok().filter(|number| *number <= most)?;
    (is_digits(digits) && digits.len() <= 2).then_some(number)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
