use std::sync::Arc;

use colloquy_core::{
    block::{Block, File, Image, Reasoning},
    message::Role,
    prepare::PreparedTurn,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Contents, DOCUMENT_NAME_CHARS_MAX, document_name};

fn file(media_type: &str, name: &str) -> Block {
    Block::File(File { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), name: name.into() })
}

fn image(media_type: &str, description: Option<&str>) -> Block {
    let description = description.map(str::to_owned);
    Block::Image(Image { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), description })
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

fn encode(role: Role, blocks: Vec<Block>) -> (Value, Vec<String>) {
    let n_stable = blocks.len();
    let mut contents = Contents::default();
    let content = serde_json::to_value(contents.of_turn(&PreparedTurn { role, blocks, n_stable })).unwrap();
    (content, contents.dropped)
}

fn document(format: &str, name: &str) -> Value {
    json!({"document": {"format": format, "name": name, "source": {"bytes": "Ynl0ZXM="}}})
}

// behaviours: 201
#[test]
fn a_pdf_is_a_native_document_under_a_name_that_converse_takes() {
    let blocks =
        vec![text("Read."), file("application/pdf", "scanned-letter.pdf"), file("application/pdf", "...")];
    let (content, dropped) = encode(Role::User, blocks);
    let expected =
        json!([{"text": "Read."}, document("pdf", "scanned-letter pdf"), document("pdf", "document")]);
    assert_eq!((content, dropped), (expected, vec![]));
}

#[test]
fn each_format_of_converse_is_a_native_document() {
    let office = "application/vnd.openxmlformats-officedocument";
    let types = [
        ("application/pdf".to_owned(), "pdf"),
        ("application/msword".to_owned(), "doc"),
        (format!("{office}.wordprocessingml.document"), "docx"),
        ("application/vnd.ms-excel".to_owned(), "xls"),
        (format!("{office}.spreadsheetml.sheet"), "xlsx"),
        ("text/csv".to_owned(), "csv"),
        ("text/html; charset=utf-8".to_owned(), "html"),
        ("text/plain".to_owned(), "txt"),
        ("text/markdown".to_owned(), "md"),
    ];
    for (media_type, format) in types {
        let (content, dropped) = encode(Role::User, vec![text("Read."), file(&media_type, "a")]);
        assert_eq!((content, dropped), (json!([{"text": "Read."}, document(format, "a")]), vec![]));
    }
}

#[test]
fn two_documents_of_one_name_are_told_apart() {
    let blocks =
        vec![text("Read."), file("text/csv", "a.csv"), file("text/csv", "a csv"), file("text/csv", "a/csv")];
    let expected = json!([
        {"text": "Read."},
        document("csv", "a csv"),
        document("csv", "a csv 2"),
        document("csv", "a csv 3"),
    ]);
    assert_eq!(encode(Role::User, blocks).0, expected);
}

#[test]
fn a_file_of_another_type_is_left_out_with_its_type_for_the_log() {
    let (content, dropped) = encode(Role::User, vec![text("Read."), file("application/zip", "a.zip")]);
    assert_eq!((content, dropped), (json!([{"text": "Read."}]), vec!["application/zip".to_owned()]));
}

#[test]
fn files_without_a_word_are_named_in_text_since_converse_wants_one() {
    let (content, dropped) =
        encode(Role::User, vec![file("application/pdf", "a.pdf"), file("application/zip", "b.zip")]);
    let expected = json!([document("pdf", "a pdf"), {"text": "[file a.pdf]"}, {"text": "[file b.zip]"}]);
    assert_eq!((content, dropped), (expected, vec!["application/zip".to_owned()]));
}

#[test]
fn pictures_are_native_in_the_formats_of_converse_and_described_in_others() {
    let blocks = vec![
        image("image/png", None),
        file("image/jpeg", "b.jpg"),
        image("image/tiff", None),
        image("image/tiff", Some("a cat")),
    ];
    let picture = |format: &str| json!({"image": {"format": format, "source": {"bytes": "Ynl0ZXM="}}});
    let expected = json!([
        picture("png"),
        picture("jpeg"),
        {"text": "[image image/tiff]"},
        {"text": "[image image/tiff: a cat]"},
    ]);
    assert_eq!(encode(Role::User, blocks).0, expected);
}

#[test]
fn signed_and_redacted_reasoning_goes_back_as_it_came_and_unsigned_does_not() {
    let signed = Reasoning { text: "hm".into(), signature: Some("c2ln".into()) };
    let blocks = vec![
        Block::Reasoning(signed),
        Block::reasoning("loose"),
        Block::RedactedReasoning("AAE=".into()),
        text("x"),
    ];
    let expected = json!([
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "AAE="}},
        {"text": "x"},
    ]);
    assert_eq!(encode(Role::Assistant, blocks).0, expected);
}

#[test]
fn blank_text_is_not_sent() {
    assert_eq!(encode(Role::User, vec![text(" \n"), text("x")]).0, json!([{"text": "x"}]));
}

proptest! {
    #[test]
    fn every_name_is_one_that_converse_takes_and_unique(names in prop::collection::vec("\\PC{0,300}|[ab]\\.?", 1..8)) {
        let blocks: Vec<_> = names.iter().map(|name| file("text/csv", name)).collect();
        let (content, _) = encode(Role::User, blocks);
        let mut seen = std::collections::HashSet::new();
        for document in content.as_array().unwrap().iter().filter_map(|content| content.get("document")) {
            let name = document["name"].as_str().unwrap().to_owned();
            prop_assert!((1..=DOCUMENT_NAME_CHARS_MAX).contains(&name.len()), "{}", name);
            prop_assert!(!name.contains("  ") && name.trim() == name, "{}", name);
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || " -()[]".contains(c)), "{}", name);
            prop_assert!(seen.insert(name));
        }
        prop_assert_eq!(seen.len(), names.len());
    }
}

#[test]
fn a_long_name_is_cut_so_that_a_number_still_fits() {
    let longest = document_name(&"a".repeat(400));
    assert_eq!(longest.len(), DOCUMENT_NAME_CHARS_MAX - 11);
    assert_eq!(format!("{longest} {}", u32::MAX).len(), DOCUMENT_NAME_CHARS_MAX);
}
