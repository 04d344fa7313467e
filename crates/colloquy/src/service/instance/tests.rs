use colloquy_core::message::Uid;
use serde_json::json;

use super::*;
use crate::ports::OsIds;

fn marked(title: &str) -> Value {
    json!({"$artifact": {"alias": "link:cite", "ref": null, "value": {"title": title}}})
}

#[test]
fn an_artifact_stays_unsaved_until_a_commit_has_taken_it() {
    let mut instance = Instance::new();
    let shown = instance.take_in(&mut marked("a"), None, &OsIds);
    assert!(shown.contains("@ref"), "{shown}");
    // The commit that was to take it failed; the same value comes again with the next question.
    instance.take_in(&mut marked("a"), None, &OsIds);
    let unsaved = instance.unsaved();
    assert_eq!(unsaved.len(), 1);
    instance.saved(&unsaved);
    assert_eq!(instance.unsaved(), []);
    instance.note_summary(&unsaved[0].reference, "/title", "an a".into());
    assert_eq!(instance.unsaved()[0].summaries["/title"], "an a");
    instance.asked(None);
    assert_eq!(instance.unsaved(), []);
}

#[test]
fn an_id_is_six_letters_and_digits_whatever_bytes_it_is_drawn_from() {
    struct Fixed(u8);
    impl IdSource for Fixed {
        fn uid(&self) -> Uid {
            Uid([self.0; 16])
        }
    }
    for byte in [0, 1, 127, 255] {
        let id = Draw(&Fixed(byte)).draw();
        assert_eq!(id.len(), colloquy_core::artifact::ID_CHARS);
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{id}");
    }
}
