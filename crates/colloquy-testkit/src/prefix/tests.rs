use super::assert_prefix_stable;

fn request(messages: &str, rest: &str) -> Vec<u8> {
    format!(r#"{{"messages":[{messages}],{rest}}}"#).into_bytes()
}

#[test]
fn a_grown_conversation_is_stable_whatever_follows_its_messages() {
    let first = r#"{"role":"user","content":"brackets ] } and a \" quote \\"}"#;
    let second = format!(r#"{first},{{"role":"assistant","content":"[ok"}}"#);
    assert_prefix_stable(&[request(first, r#""top_p":1"#), request(&second, r#""top_p":0.5"#)]);
}

#[test]
#[should_panic(expected = "request 1 is no prefix of request 2; they part at byte")]
fn a_changed_message_is_found() {
    assert_prefix_stable(&[request(r#""a""#, ""), request(r#""b","c""#, "")]);
}

#[test]
#[should_panic(expected = "request 2 is no prefix of request 3")]
fn a_lost_message_is_found() {
    assert_prefix_stable(&[request(r#""a""#, ""), request(r#""a","b""#, ""), request(r#""a""#, "")]);
}

#[test]
#[should_panic(expected = "a request must begin with its messages")]
fn a_request_that_begins_with_something_else_is_refused() {
    assert_prefix_stable(&[br#"{"model":"m","messages":[]}"#.to_vec(), request("", "")]);
}

#[test]
#[should_panic(expected = "the messages of a request do not end")]
fn a_request_that_is_cut_short_is_refused() {
    assert_prefix_stable(&[br#"{"messages":["a""#.to_vec(), request("", "")]);
}
