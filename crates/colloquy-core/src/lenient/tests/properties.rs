//! What holds for every text and every value. `PROPTEST_CASES` says how many are tried.

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Mood {
    Good,
    Bad,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Whole {
    text: String,
    maybe: Option<String>,
    flag: bool,
    small: i32,
    large: u64,
    ratio: f64,
    mood: Mood,
    moods: Vec<Mood>,
    named: BTreeMap<String, Option<i64>>,
    inner: Option<Box<Whole>>,
    #[schemars(extend("format" = "date"))]
    day: String,
    #[schemars(extend("format" = "date-time"))]
    at: String,
    anything: Value,
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![Just(Mood::Good), Just(Mood::Bad)]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let members = vec((any::<String>(), inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn whole() -> impl Strategy<Value = Whole> {
    let texts = (any::<String>(), any::<Option<String>>(), "20[0-9]{2}-0[1-9]-2[0-8]");
    let numbers = (any::<bool>(), any::<i32>(), any::<u64>(), -1e300..1e300);
    let lists = (mood(), vec(mood(), 0..3), btree_map(any::<String>(), any::<Option<i64>>(), 0..3));
    let leaf = (texts, numbers, lists, json()).prop_map(|(texts, numbers, lists, anything)| {
        let (text, maybe, day) = texts;
        let (flag, small, large, ratio) = numbers;
        let (mood, moods, named) = lists;
        let at = format!("{day}T10:15:30.5+01:00");
        Whole { text, maybe, flag, small, large, ratio, mood, moods, named, inner: None, day, at, anything }
    });
    let leaf = leaf.boxed();
    (leaf.clone(), option::of(leaf)).prop_map(|(outer, inner)| Whole { inner: inner.map(Box::new), ..outer })
}

/// Texts made of what the reader decides on.
fn hostile() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &["true", "NaN", "x", "//", "/*", "*/", "\n", "```json\n", "\"@fields\":{"];
    let piece = prop_oneof![
        4 => "[\\[\\]{}:,\"'“”‘’\\\\/*+.0-9eE−-]{1,6}",
        1 => any::<String>(),
        1 => "\\\\u[0-9a-fA-F]{0,4}",
        1 => proptest::sample::select(WORDS).prop_map(str::to_owned),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// The fields that are tried with something else.
const FIELDS: &[&str] = &["text", "flag", "small", "mood", "moods", "named", "day", "inner", "anything"];

proptest! {
    #[test]
    fn a_value_of_a_type_reads_to_itself(value in whole(), prose in "[a-z ]{0,12}") {
        let json = serde_json::to_value(&value).unwrap();
        let descriptor = described::<Whole>();
        let read = read(&format!("{prose}\n{json}\n{prose}"), &descriptor).unwrap();
        prop_assert_eq!(&read, &json);
        prop_assert_eq!(serde_json::from_value::<Whole>(read.clone()).unwrap(), value);
        prop_assert_eq!(coerce(read, &descriptor).unwrap(), json, "once more changes nothing");
    }

    #[test]
    fn json_is_read_as_every_reader_reads_it(value in json()) {
        prop_assert_eq!(parse_json(&value.to_string()), Ok(value.clone()));
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(parse_json(&pretty), Ok(value));
    }

    #[test]
    fn nothing_that_a_model_writes_makes_the_reader_fail(text in hostile()) {
        let found = find(&text, Wanted::Either);
        prop_assert!(found.around.len() + found.json.map_or(0, str::len) <= text.len() + 1);
        if let Ok(value) = read(&text, &described::<Whole>()) {
            prop_assert!(serde_json::from_value::<Whole>(value).is_ok());
        }
        if let Ok(value) = parse_json(&text) {
            prop_assert_eq!(parse_json(&value.to_string()), Ok(value));
        }
    }

    #[test]
    fn what_is_read_is_what_the_type_decodes(
        value in whole(),
        key in proptest::sample::select(FIELDS),
        other in json(),
    ) {
        let mut value = serde_json::to_value(&value).unwrap();
        value[key] = other;
        if let Ok(value) = coerce(value, &described::<Whole>()) {
            prop_assert!(serde_json::from_value::<Whole>(value).is_ok());
        }
    }
}

/// A pass in quadratic time over a megabyte would not end within the patience of any test runner.
#[test]
fn a_megabyte_of_brackets_is_read_in_one_pass() {
    const N_BYTES: usize = 1 << 20;
    let descriptor = described::<Whole>();
    for piece in ["[", "{", "]", "[]", "{}", "{\"", "[\"\\", "```{}", "/*", "// {}\n", "[1,", "'", "“"] {
        let text = piece.repeat(N_BYTES / piece.len());
        assert!(read(&text, &descriptor).is_err(), "{piece}");
        assert!(parse_json(&text).is_err(), "{piece}");
        assert!(split_json_and_prose(&text).1.len() <= text.len(), "{piece}");
    }
}
