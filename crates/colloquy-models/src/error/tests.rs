use colloquy_core::{retry::Passing, turn::Failure};

use super::{DETAIL_CHARS_MAX, Secret, classify, content_refused};

const KEY: Secret<'static> = Secret(Some("sk-very-secret"));

fn detail(failure: &Failure) -> &str {
    match failure {
        Failure::Transient { detail }
        | Failure::Busy { detail, .. }
        | Failure::Refused { detail }
        | Failure::ContentRefused { detail } => detail,
        other => panic!("no detail in {other:?}"),
    }
}

#[test]
fn the_real_overflow_of_llama_server_carries_both_numbers() {
    let body = include_bytes!("../../tests/fixtures/err_over_window.json");
    let overflow = Failure::Overflow { prompt_tokens: Some(3031), window_tokens: Some(2048) };
    assert_eq!(classify(400, body, KEY), overflow);
}

#[test]
fn both_overflows_of_mlx_are_known() {
    let old = br#"{"detail":"Request needs 5037 context tokens (5029 prompt + 8 max generation), but MAX_KV_SIZE is 4096."}"#;
    let numbers = Failure::Overflow { prompt_tokens: Some(5037), window_tokens: Some(4096) };
    assert_eq!(classify(400, old, KEY), numbers);
    let new = br#"{"detail":"Protected conversation exceeds the available context budget."}"#;
    assert_eq!(classify(400, new, KEY), Failure::Overflow { prompt_tokens: None, window_tokens: None });
}

#[test]
fn passing_statuses_are_told_from_lasting_ones() {
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529, 599] {
        assert!(classify(status, b"", KEY).passing().is_some(), "{status}");
    }
    for status in [400, 401, 403, 404, 405, 407, 410, 413, 422, 424, 499] {
        assert!(matches!(classify(status, b"", KEY), Failure::Refused { .. }), "{status}");
    }
}

#[test]
fn the_servers_own_words_are_found_in_their_usual_places() {
    let cases: [(&[u8], &str); 6] = [
        (br#"{"error":{"message":"no such model","type":"x"}}"#, "no such model"),
        (br#"{"error":"no such model"}"#, "no such model"),
        (br#"{"detail":"no such model"}"#, "no such model"),
        (br#"{"object":"error","message":"no such model"}"#, "no such model"),
        (b"  no such\n  model  ", "no such model"),
        (b"", "no reason given"),
    ];
    for (body, words) in cases {
        let expected = format!("the model's server answered 404: {words}");
        assert_eq!(detail(&classify(404, body, KEY)), expected);
    }
}

#[test]
fn a_content_filter_is_a_refusal_of_the_content() {
    let azure = br#"{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    assert_eq!(classify(400, azure, KEY), Failure::ContentRefused { detail: "filtered".into() });
}

// behaviours: 165
#[test]
fn a_refusal_holds_its_category_and_explanation_without_the_key() {
    let failure = content_refused("reasoning_extraction: the answer would repeat sk-very-secret", KEY);
    let detail = "reasoning_extraction: the answer would repeat [key]".into();
    assert_eq!(failure, Failure::ContentRefused { detail });
}

#[test]
fn a_key_that_the_server_echoes_is_taken_out() {
    let body = br#"{"error":{"message":"wrong key sk-very-secret, not sk-very-secret"}}"#;
    let refused = classify(401, body, KEY);
    assert_eq!(detail(&refused), "the model's server answered 401: wrong key [key], not [key]");
}

#[test]
fn a_message_is_cut_at_its_limit_and_not_before() {
    let prefix = "the model's server answered 400: ".chars().count();
    let fits = "é".repeat(DETAIL_CHARS_MAX - prefix);
    assert!(detail(&classify(400, fits.as_bytes(), KEY)).ends_with('é'));
    let long = detail(&classify(400, format!("{fits}é").as_bytes(), KEY)).to_owned();
    assert!(long.ends_with('…'));
    assert_eq!(long.chars().count(), DETAIL_CHARS_MAX + 1);
}

// behaviours: 285
#[test]
fn an_account_without_money_is_not_asked_again_and_a_busy_server_is() {
    let error = |code: &str| format!(r#"{{"error":{{"message":"no","code":"{code}"}}}}"#);
    let of = |status, code: &str| classify(status, error(code).as_bytes(), Secret(None));
    assert_eq!(of(429, "insufficient_quota").passing(), None);
    let Failure::Refused { detail } = of(429, "insufficient_quota") else { panic!() };
    assert!(detail.contains("out of money"), "{detail}");
    assert_eq!(of(429, "rate_limit_exceeded").passing(), Some(Passing::RateLimit));
    assert_eq!(of(529, "overloaded_error").passing(), Some(Passing::Overload));
    assert_eq!(of(503, "").passing(), Some(Passing::Fault));
}
