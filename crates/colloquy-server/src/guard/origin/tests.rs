use super::*;

fn bound_to(address: &str) -> Security {
    Security { bound: Some(address.parse().unwrap()), ..Security::default() }
}

#[test]
fn loopback_in_every_spelling_of_a_literal_is_this_machine() {
    let security = Security::default();
    for host in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.9.9.9:27182",
        "[::1]",
        "[::1]:80",
        "[::ffff:127.0.0.1]",
    ] {
        assert!(host_is_ours(&security, host), "{host}");
    }
}

#[test]
fn nothing_that_merely_looks_like_loopback_is_this_machine() {
    let security = Security::default();
    for host in [
        "",
        ":80",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "a@127.0.0.1",
        "0x7f.1",
        "2130706433",
        "[::1",
        "[::1]x",
        "::1",
        "127.0.0.1:80:80",
        "127.0.0.1:65536",
        "127.0.0.1:+80",
        "10.0.0.1",
    ] {
        assert!(!host_is_ours(&security, host), "{host}");
    }
}

#[test]
fn the_bound_address_is_this_machine_and_its_neighbour_is_not() {
    let security = bound_to("10.1.2.3:27182");
    assert!(host_is_ours(&security, "10.1.2.3:27182"));
    assert!(!host_is_ours(&security, "10.1.2.4:27182"));
}

#[test]
fn a_server_on_every_address_knows_literals_but_no_names() {
    let security = bound_to("0.0.0.0:27182");
    assert!(host_is_ours(&security, "192.168.1.5:27182"));
    assert!(!host_is_ours(&security, "evil.example:27182"));
}

#[test]
fn an_allowed_host_with_a_port_is_allowed_on_that_port_only() {
    let security =
        Security { allowed_hosts: vec!["box.lan".into(), "proxy.lan:8443".into()], ..Security::default() };
    assert!(host_is_ours(&security, "BOX.lan:1234"));
    assert!(host_is_ours(&security, "proxy.lan:8443"));
    assert!(!host_is_ours(&security, "proxy.lan:8444"));
    assert!(!host_is_ours(&security, "proxy.lan"));
}

#[test]
fn an_origin_is_the_same_only_with_scheme_name_and_port() {
    assert!(is_same("http://127.0.0.1:27182", "127.0.0.1:27182"));
    assert!(is_same("http://localhost", "localhost:80"));
    for origin in ["https://127.0.0.1:27182", "http://127.0.0.1", "http://localhost:27182", "null", "http://"]
    {
        assert!(!is_same(origin, "127.0.0.1:27182"), "{origin}");
    }
}

#[test]
fn null_is_refused_even_when_somebody_allows_it() {
    let security = Security {
        allowed_origins: vec!["null".into(), "https://app.example".into()],
        ..Security::default()
    };
    assert!(!is_allowed(&security, "null"));
    assert!(is_allowed(&security, "https://APP.example"));
    assert!(!is_allowed(&security, "https://app.example.evil"));
}
