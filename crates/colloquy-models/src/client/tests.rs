use std::time::Duration;

use colloquy_testkit::scripted_server::{Reply, ScriptedServer};
use tokio::net::TcpListener;

use super::{HttpClients, is_loopback, probe, shown};

const LONG: Duration = Duration::from_secs(5);

async fn reason(base_url: &str, timeout: Duration) -> String {
    let client = HttpClients::new().unwrap().for_url(base_url).unwrap();
    probe(&client, base_url, timeout).await.unwrap_err().reason
}

#[tokio::test]
async fn any_response_is_an_answer_even_a_refusal() {
    let server = ScriptedServer::start([Reply::document(401, "text/plain", "no")]).await.unwrap();
    let client = HttpClients::new().unwrap().for_url(&server.base_url()).unwrap();
    probe(&client, &server.base_url(), LONG).await.unwrap();
    // Not the models page but the scripted refusal.
    probe(&client, &format!("{}/elsewhere/", server.base_url()), LONG).await.unwrap();
    assert_eq!(server.requests()[0].path, "/v1/elsewhere/models");
}

#[tokio::test]
async fn a_closed_port_is_told_as_such() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let base_url = format!("http://127.0.0.1:{port}/v1");
    let reason = reason(&base_url, LONG).await;
    assert!(reason.starts_with(&format!("{base_url} does not answer: ")), "{reason}");
    assert!(reason.to_lowercase().contains("connection refused"), "{reason}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_after_the_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", silent.local_addr().unwrap());
    assert_eq!(
        reason(&base_url, Duration::from_millis(20)).await,
        format!("no answer from {base_url} within 0 s")
    );
}

#[tokio::test]
async fn what_is_no_address_is_refused_without_a_request() {
    let cases = [
        ("ftp://127.0.0.1/v1", "ftp://127.0.0.1/v1 does not start with http:// or https://"),
        ("nonsense", "\"nonsense\" is not an address: relative URL without a base"),
    ];
    for (base_url, expected) in cases {
        assert_eq!(reason(base_url, LONG).await, expected);
    }
}

#[test]
fn this_machine_is_told_from_others() {
    for base_url in ["http://localhost:1/v1", "http://127.0.0.1", "http://127.8.9.1", "https://[::1]:8/v1"] {
        assert!(is_loopback(base_url), "{base_url}");
    }
    for base_url in ["http://localhost.example", "http://10.0.0.1", "https://[::2]", "http:", "x"] {
        assert!(!is_loopback(base_url), "{base_url}");
    }
}

#[test]
fn a_client_for_other_machines_can_be_made() {
    HttpClients::new().unwrap().for_url("https://models.example/v1").unwrap();
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    assert_eq!(shown("https://name:word@models.example/v1"), "https://models.example/v1");
}
