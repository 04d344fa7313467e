use colloquy_core::{
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
};

use super::Recorded;

fn conversation(system: &str) -> PreparedConversation {
    let turn = |role, text: &str| PreparedTurn { role, text: text.into() };
    PreparedConversation {
        system: system.into(),
        turns: vec![turn(Role::User, "two\nlines"), turn(Role::Assistant, r"a \n of its own")],
    }
}

#[test]
fn each_message_is_one_line_and_line_breaks_are_told_from_backslashes() {
    insta::assert_snapshot!(Recorded(&conversation("Be brief.")).to_string(), @r"
    01 system Be brief.
    02 user two\nlines
    03 assistant a \\n of its own
    ");
}

#[test]
fn an_empty_system_text_has_no_line() {
    insta::assert_snapshot!(Recorded(&conversation("")).to_string(), @r"
    01 user two\nlines
    02 assistant a \\n of its own
    ");
}
