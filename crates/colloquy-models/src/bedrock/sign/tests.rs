use colloquy_core::turn::Failure;

use super::{Credentials, Unsigned};

/// 2015-08-30T12:36:00Z, the moment of AWS's published vectors.
const AT: i64 = 1_440_938_160_000;
/// The session token of those vectors.
const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

fn credentials(session_token: Option<&str>) -> Credentials {
    Credentials {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: session_token.map(str::to_owned),
    }
}

fn header<'a>(headers: &'a [(&'static str, String)], name: &str) -> &'a str {
    let found = headers.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("{name} is missing in {headers:?}")).1
}

#[test]
fn the_signature_is_that_of_the_published_vector() {
    // `post-vanilla` of aws-sig-v4-test-suite.
    let unsigned = Unsigned { url: "https://example.amazonaws.com/", body: b"", service: "service", at: AT };
    let headers = unsigned.sign(&credentials(None), "us-east-1").unwrap();
    assert_eq!(header(&headers, "x-amz-date"), "20150830T123600Z");
    assert_eq!(
        header(&headers, "authorization"),
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
         SignedHeaders=host;x-amz-date, \
         Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    );
    assert_eq!(headers.len(), 2);
}

#[test]
fn a_session_token_is_sent_and_signed() {
    // `post-sts-header-before` of the same suite.
    let unsigned = Unsigned { url: "https://example.amazonaws.com/", body: b"", service: "service", at: AT };
    let headers = unsigned.sign(&credentials(Some(TOKEN)), "us-east-1").unwrap();
    assert_eq!(header(&headers, "x-amz-security-token"), TOKEN);
    let authorization = header(&headers, "authorization");
    assert!(authorization.contains("SignedHeaders=host;x-amz-date;x-amz-security-token,"), "{authorization}");
    assert!(
        authorization.ends_with("Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
        "{authorization}"
    );
}

#[test]
fn an_encoded_path_is_encoded_once_more_for_the_signature_and_the_body_is_signed() {
    // Computed by hand from the published algorithm, with nothing but HMAC and SHA-256.
    let url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v1%3A0/converse-stream";
    let unsigned = Unsigned { url, body: b"{\"messages\":[]}", service: "bedrock", at: AT };
    let headers = unsigned.sign(&credentials(None), "eu-west-1").unwrap();
    let authorization = header(&headers, "authorization");
    assert!(
        authorization.ends_with("Signature=269fbe684cb339768770380ad5ffe0502c335706555567929e9e785fcecaf144"),
        "{authorization}"
    );
}

#[test]
fn what_cannot_be_signed_is_refused_without_its_secrets() {
    let url = "https://example.amazonaws.com/";
    let bad_token = credentials(Some("a\nb-secret"));
    let bad = [
        Unsigned { url: "not an address", body: b"", service: "service", at: AT }
            .sign(&credentials(None), "x"),
        Unsigned { url, body: b"", service: "service", at: AT }.sign(&bad_token, "x"),
    ];
    for refused in bad {
        let Err(Failure::Refused { detail }) = refused else { panic!("{refused:?}") };
        assert!(detail.contains("base URL") && !detail.contains("secret"), "{detail}");
    }
}
