use proptest::prelude::*;
use serde_json::json;

use super::*;

fn from(config: &Value) -> SamplingDefaults {
    resolve(Some(config), None, None)
}

#[test]
fn a_model_that_says_nothing_gets_the_fallbacks() {
    let fallback = SamplingDefaults {
        temperature: 0.2,
        top_p: 0.95,
        max_tokens: 1024,
        max_tokens_cap: 32_768,
        top_k: None,
        min_p: None,
        presence_penalty: None,
        repetition_penalty: 1.1,
        repetition_context_size: 64,
        source: SamplingSource::Fallback,
    };
    assert_eq!(resolve(None, None, None), fallback);
    for silent in
        [json!({}), json!(null), json!([0.7]), json!("x"), json!({"temperature": "0.5", "top_p": true})]
    {
        assert_eq!(from(&silent), fallback, "{silent}");
    }
}

#[test]
fn a_model_that_does_not_sample_has_no_say() {
    let config = json!({"do_sample": false, "temperature": 0.7, "top_k": 20});
    assert_eq!(from(&config), resolve(None, None, None));
    assert_eq!(from(&json!({"do_sample": true, "temperature": 0.7})).temperature, 0.7);
}

#[test]
fn nearly_greedy_is_greedy() {
    assert_eq!(from(&json!({"temperature": 0.049})).temperature, 0.0);
    assert_eq!(from(&json!({"temperature": 0.05})).temperature, 0.05);
    assert_eq!(from(&json!({"temperature": 0.9, "top_k": 1})).temperature, 0.0);
}

#[test]
fn a_temperature_is_clamped_and_other_values_out_of_range_are_dropped() {
    assert_eq!(from(&json!({"temperature": 3})).temperature, 2.0);
    let config = json!({
        "top_p": 1.01, "top_k": 2.5, "min_p": -0.1, "presence_penalty": 2.1, "repetition_penalty": 0,
    });
    assert_eq!(from(&config), resolve(None, None, None));
}

#[test]
fn each_value_counts_at_the_end_of_its_range() {
    let config = json!({
        "top_p": 1, "top_k": 0, "min_p": 1.0, "presence_penalty": -2, "repetition_penalty": 2.0,
    });
    let resolved = from(&config);
    assert_eq!((resolved.top_p, resolved.top_k, resolved.min_p), (1.0, Some(0), Some(1.0)));
    assert_eq!((resolved.presence_penalty, resolved.repetition_penalty), (Some(-2.0), 2.0));
    assert_eq!(resolved.source, SamplingSource::GenerationConfig);
}

#[test]
fn the_smaller_known_context_caps_max_tokens() {
    let tokens = |context, engine| {
        let resolved = resolve(None, context, engine);
        (resolved.max_tokens, resolved.max_tokens_cap)
    };
    assert_eq!(tokens(Some(512), None), (512, 512));
    assert_eq!(tokens(Some(40_960), Some(4096)), (1024, 4096));
    assert_eq!(tokens(Some(131_072), None), (1024, 32_768));
    assert_eq!(tokens(Some(0), Some(0)), (1024, 32_768));
}

proptest! {
    #[test]
    fn whatever_a_model_says_the_result_is_in_range(
        temperature in any::<f64>(), top_p in any::<f64>(), top_k in any::<i64>(), min_p in any::<f64>(),
        penalty in any::<f64>(), context in any::<Option<u32>>(), engine in any::<Option<u32>>(),
    ) {
        let config = json!({
            "temperature": temperature, "top_p": top_p, "top_k": top_k, "min_p": min_p,
            "presence_penalty": penalty, "repetition_penalty": penalty,
        });
        let resolved = resolve(Some(&config), context, engine);
        prop_assert!((0.0..=2.0).contains(&resolved.temperature));
        prop_assert!((0.0..=1.0).contains(&resolved.top_p));
        prop_assert!(resolved.min_p.is_none_or(|p| (0.0..=1.0).contains(&p)));
        prop_assert!(resolved.presence_penalty.is_none_or(|p| (-2.0..=2.0).contains(&p)));
        prop_assert!(resolved.repetition_penalty > 0.0 && resolved.repetition_penalty <= 2.0);
        prop_assert!((1..=resolved.max_tokens_cap).contains(&resolved.max_tokens));
        prop_assert!(resolved.max_tokens_cap <= MAX_TOKENS_MAX);
    }
}
