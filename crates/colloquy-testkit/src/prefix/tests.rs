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
fn what_stands_before_the_messages_must_stay_too() {
    let responses = |instructions: &str, input: &str| {
        format!(r#"{{"instructions":"{instructions}","input":[{input}],"top_p":1}}"#).into_bytes()
    };
    let named_so = r#"messages\":["#;
    assert_prefix_stable(&[responses(named_so, "1"), responses(named_so, r#"1,{"input":[2]},3"#)]);
    let changed = [responses("be kind", "1"), responses("be brief", "1,2")];
    let refused = std::panic::catch_unwind(|| assert_prefix_stable(&changed)).unwrap_err();
    let words = refused.downcast_ref::<String>().unwrap();
    assert!(words.contains("request 1 is no prefix of request 2; they part at byte 20"), "{words}");
}

#[test]
#[should_panic(expected = "a request must hold a list of messages or input")]
fn a_request_without_messages_is_refused() {
    assert_prefix_stable(&[br#"{"model":"m","tools":[{"messages":[]}]}"#.to_vec(), request("", "")]);
}

#[test]
#[should_panic(expected = "the messages of a request do not end")]
fn a_request_that_is_cut_short_is_refused() {
    assert_prefix_stable(&[br#"{"messages":["a""#.to_vec(), request("", "")]);
}
