use colloquy_core::turn::Failure;
use serde_json::{Value, json};

use super::{Overflow, parse};

#[test]
fn the_vectors_hold() {
    let vectors = include_str!("../../tests/fixtures/context_overflow.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let body = Some(&case["body"]).filter(|body| !body.is_null());
        let found = parse(case["message"].as_str().unwrap(), body).map(|overflow| {
            json!({
                "prompt_tokens": overflow.prompt_tokens,
                "context_tokens": overflow.context_tokens,
                "prompt_only_tokens": overflow.prompt_only_tokens,
            })
        });
        assert_eq!(found.unwrap_or_default(), case["expected"], "{}", case["name"]);
    }
}

#[test]
fn the_sentences_of_anthropic_and_bedrock_are_known() {
    let said = |message: &str| parse(message, None).map(|found| (found.prompt_tokens, found.context_tokens));
    let anthropic = "prompt is too long: 210000 tokens > 200000 maximum";
    assert_eq!(said(anthropic), Some((Some(210_000), Some(200_000))));
    assert_eq!(said("prompt is too long"), Some((None, None)));
    let sum = "input length and `max_tokens` exceed context limit: 195957 + 8192 > 200000, decrease input";
    assert_eq!(said(sum), Some((Some(204_149), Some(200_000))));
    assert_eq!(parse(sum, None).unwrap().prompt_only_tokens, Some(195_957));
    assert_eq!(said("Input is too long for requested model."), Some((None, None)));
    assert_eq!(said("the input is too long"), None);
}

// behaviours: 168
#[test]
fn an_overflow_reports_how_much_too_large_the_prompt_is() {
    let tokens =
        |prompt_tokens, context_tokens| Overflow { prompt_tokens, context_tokens, ..Overflow::default() };
    let overflow = tokens(Some(150_000), Some(100_000));
    assert_eq!((overflow.excess_tokens(), overflow.ratio()), (Some(50_000), Some(1.5)));
    for unknown in [tokens(None, Some(8)), tokens(Some(8), None), Overflow::default()] {
        assert_eq!((unknown.excess_tokens(), unknown.ratio()), (None, None), "{unknown:?}");
    }
    assert_eq!(tokens(Some(8), Some(0)).ratio(), None);
}

#[test]
fn numbers_are_read_as_python_reads_them() {
    let read = |value: Value| {
        let body = json!({"type": "exceed_context_size_error", "n_prompt_tokens": value});
        parse("", Some(&body)).unwrap().prompt_tokens
    };
    assert_eq!(read(json!(true)), Some(1));
    assert_eq!(read(json!(-2.9)), Some(-2));
    assert_eq!(read(json!(1e300)), None);
    assert_eq!(read(json!("+7")), Some(7));
    assert_eq!(read(json!("9.5")), None);
    assert_eq!(read(json!([9])), None);
}

#[test]
fn newer_mlx_names_no_numbers() {
    let detail = "Protected conversation exceeds the available context budget.";
    assert_eq!(parse(detail, None), Some(Overflow::default()));
}

#[test]
fn older_mlx_may_name_the_window_alone() {
    let window_only = Overflow { context_tokens: Some(4096), ..Overflow::default() };
    assert_eq!(parse("prompt too long, MAX_KV_SIZE=4096", None), Some(window_only));
}

#[test]
fn the_code_of_the_openai_api_is_an_overflow() {
    let body = json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded"}});
    assert_eq!(parse("too long", Some(&body)), Some(Overflow::default()));
}

#[test]
fn numbers_that_no_window_has_are_not_told() {
    let overflow = Overflow { prompt_tokens: Some(-1), context_tokens: Some(1 << 40), ..Overflow::default() };
    assert_eq!(Failure::from(overflow), Failure::Overflow { prompt_tokens: None, window_tokens: None });
}
