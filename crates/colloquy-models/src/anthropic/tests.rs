use std::sync::Arc;

use colloquy::ports::ModelCall;
use colloquy_core::seat::ModelSpec;
use serde_json::{Map, Value};

use super::{Anthropic, Caching, Endpoint, MessagesWire};
use crate::{
    golden,
    wire::{Framing, Wire, WireRequest},
};

pub(super) fn endpoint() -> Endpoint {
    Endpoint {
        base_url: "https://api.anthropic.com/v1/".into(),
        model: "claude".into(),
        api_key: Some("sk-secret".into()),
        caching: Caching::Marks,
        extra: Map::new(),
    }
}

fn wire() -> MessagesWire {
    MessagesWire::new(endpoint(), Arc::new(ModelSpec { json_schema: true, ..ModelSpec::default() }))
}

fn body(wire: &MessagesWire, call: &ModelCall) -> Value {
    serde_json::from_slice(&wire.request(call).unwrap().body).unwrap()
}

/// Whether a temperature, a `top_p` and a schema are sent.
fn sent(wire: &MessagesWire) -> (bool, bool, bool) {
    let body = body(wire, &golden::typed_answer());
    (body["temperature"].is_number(), body["top_p"].is_number(), body["output_config"]["format"].is_object())
}

#[test]
fn a_request_goes_to_the_messages_of_its_base_with_version_and_key() {
    let WireRequest { url, headers, .. } = wire().request(&golden::plain()).unwrap();
    assert_eq!(url, "https://api.anthropic.com/v1/messages");
    let version = ("anthropic-version", "2023-06-01".to_owned());
    assert_eq!(headers, [version.clone(), ("x-api-key", "sk-secret".to_owned())]);
    assert_eq!((wire().name(), wire().framing()), (("anthropic", "claude"), Framing::Sse));

    let keyless = MessagesWire::new(Endpoint { api_key: None, ..endpoint() }, Arc::default());
    assert_eq!(keyless.request(&golden::plain()).unwrap().headers, [version]);
}

#[test]
fn the_key_appears_in_no_debug_text() {
    let model = Anthropic::new(endpoint(), ModelSpec::default()).unwrap();
    let shown = format!("{:?} {:?} {model:?}", endpoint(), wire());
    assert!(shown.contains("claude") && !shown.contains("sk-secret"), "{shown}");
}

#[test]
fn what_a_model_does_not_take_is_learnt_from_its_refusal_and_not_sent_again() {
    let wire = wire();
    assert_eq!(sent(&wire), (true, true, true));
    let both = "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
    assert!(wire.learns_from(400, both, &golden::plain()));
    assert_eq!(sent(&wire), (true, false, true));
    let schema =
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be set to false";
    assert!(wire.learns_from(400, schema, &golden::plain()));
    assert_eq!(sent(&wire), (true, false, false));
    assert!(wire.learns_from(400, "`temperature` is deprecated for this model.", &golden::plain()));
    assert_eq!(sent(&wire), (false, false, false));
    assert_eq!(body(&wire, &golden::plain())["top_k"], Value::Null);
    wire.unlearns();
    assert_eq!(sent(&wire), (true, true, true));
}

#[test]
fn other_refusals_teach_nothing() {
    let wire = wire();
    for (status, message) in [
        (400, "tools.0.input_schema: JSON schema is invalid"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (403, "temperature"),
        (429, "output_config.format"),
    ] {
        assert!(!wire.learns_from(status, message, &golden::plain()), "{message}");
    }
    assert_eq!(sent(&wire), (true, true, true));
}
