use std::sync::Arc;

use colloquy_core::seat::ModelSpec;
use serde_json::{Map, Value};

use super::{Endpoint, OpenAiResponses, ResponsesWire};
use crate::{
    golden,
    wire::{Framing, Wire, WireRequest},
};

fn endpoint() -> Endpoint {
    Endpoint {
        base_url: "https://api.openai.com/v1/".into(),
        model: "gpt".into(),
        api_key: Some("sk-secret".into()),
        extra: Map::new(),
    }
}

fn wire() -> ResponsesWire {
    ResponsesWire::new(endpoint(), Arc::new(ModelSpec::default()))
}

fn body(wire: &ResponsesWire) -> Value {
    serde_json::from_slice(&wire.request(&golden::plain()).unwrap().body).unwrap()
}

#[test]
fn a_request_goes_to_the_responses_of_its_base_with_the_key_as_a_bearer() {
    let WireRequest { url, headers, .. } = wire().request(&golden::plain()).unwrap();
    assert_eq!(url, "https://api.openai.com/v1/responses");
    assert_eq!(headers, [("authorization", "Bearer sk-secret".to_owned())]);
    assert_eq!((wire().name(), wire().framing()), (("openai-responses", "gpt"), Framing::Sse));

    let keyless = ResponsesWire::new(Endpoint { api_key: None, ..endpoint() }, Arc::default());
    assert!(keyless.request(&golden::plain()).unwrap().headers.is_empty());
}

#[test]
fn the_key_appears_in_no_debug_text() {
    let model = OpenAiResponses::new(endpoint(), ModelSpec::default()).unwrap();
    let shown = format!("{:?} {:?} {model:?}", endpoint(), wire());
    assert!(shown.contains("gpt") && !shown.contains("sk-secret"), "{shown}");
}

#[test]
fn what_a_model_does_not_take_is_learnt_from_its_refusal_and_not_sent_again() {
    let wire = wire();
    assert!((body(&wire)["temperature"].is_number(), body(&wire)["include"].is_array()) == (true, true));

    let encrypted = "Encrypted content is not supported with this model.";
    assert!(wire.learns_from(400, encrypted, &golden::plain()));
    assert!((body(&wire)["temperature"].is_number(), body(&wire)["include"].is_array()) == (true, false));

    let temperature = "Unsupported parameter: 'temperature' is not supported with this model.";
    assert!(wire.learns_from(400, temperature, &golden::plain()));
    assert!((body(&wire)["temperature"].is_number(), body(&wire)["include"].is_array()) == (false, false));
    assert_eq!(body(&wire)["top_p"], Value::Null);

    wire.unlearns();
    assert!((body(&wire)["temperature"].is_number(), body(&wire)["include"].is_array()) == (true, true));
}

#[test]
fn other_refusals_teach_nothing() {
    let wire = wire();
    let before = body(&wire);
    for (status, message) in [
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, "the temperature outside is low"),
        (401, "Unsupported parameter: 'temperature'"),
    ] {
        assert!(!wire.learns_from(status, message, &golden::plain()), "{message}");
    }
    assert_eq!(body(&wire), before);
}
