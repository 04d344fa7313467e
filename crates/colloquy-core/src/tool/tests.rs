use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A tool that counts how often it is asked what it does.
struct Counting {
    n_asked: AtomicUsize,
}

impl DeclaredTool for Counting {
    fn name(&self) -> &str {
        "search"
    }

    fn definition(&self) -> ToolDefinition {
        let n_asked = self.n_asked.fetch_add(1, Ordering::Relaxed) + 1;
        ToolDefinition {
            name: "otherwise".into(),
            description: format!("asked {n_asked} times"),
            schema: None,
        }
    }
}

fn definition(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: description.into(), schema: Some("{}".into()) }
}

// behaviours: 35
#[test]
fn the_text_form_names_the_input_on_a_second_line() {
    assert_eq!(definition("n", "d").text(), "n: d\n  Input parameters: {}");
    assert_eq!(ToolDefinition { schema: None, ..definition("n", "d") }.text(), "n: d");
}

#[test]
fn a_name_is_taken_by_whoever_comes_first_and_order_is_that_of_declaration() {
    let mut palette = Palette::default();
    assert!(palette.declare(Arc::new(definition("b", "first"))));
    assert!(palette.declare(Arc::new(definition("a", "first"))));
    assert!(!palette.declare(Arc::new(definition("b", "second"))));
    assert_eq!(palette.names().collect::<Vec<_>>(), ["b", "a"]);
    assert!(palette.definitions().all(|tool| tool.description == "first"));
}

#[test]
fn a_tool_is_asked_once_by_a_palette_and_all_its_copies() {
    let tool = Arc::new(Counting { n_asked: AtomicUsize::new(0) });
    let mut palette = Palette::default();
    palette.declare(Arc::clone(&tool) as Arc<dyn DeclaredTool>);
    let copy = palette.clone();
    assert_eq!(palette.definitions_of(|_| false).count(), 0);
    assert_eq!(tool.n_asked.load(Ordering::Relaxed), 0, "a tool that is not wanted is not asked");

    let said: Vec<&str> =
        palette.definitions().chain(copy.definitions()).map(|tool| tool.description.as_str()).collect();
    assert_eq!(said, ["asked 1 times", "asked 1 times"]);
}

#[test]
fn a_definition_carries_the_name_that_was_declared() {
    let mut palette = Palette::default();
    palette.declare(Arc::new(Counting { n_asked: AtomicUsize::new(0) }));
    assert!(palette.definitions().all(|tool| tool.name == "search"));
}
