//! Tools as the model knows them: a name, a description, a JSON Schema.
//!
//! A conversation's tools are declared once and never redefined or removed; what a declaration
//! says is read once, at the first render after it (runtime page, "Tool System").

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// A tool as it is announced to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Unique in a conversation.
    pub name: String,
    /// What it does, with the suffix that says what it costs.
    pub description: String,
    /// Its input as JSON Schema text; `None` for a tool without input.
    pub schema: Option<String>,
}

impl ToolDefinition {
    /// The text form: what a wire without native tools sends, and what every count measures.
    pub fn text(&self) -> String {
        match &self.schema {
            Some(schema) => {
                format!("{}: {}\n  Input parameters: {schema}", self.name, self.description)
            }
            None => format!("{}: {}", self.name, self.description),
        }
    }
}

/// Whether a model may call tools. The palette is sent either way (I3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must answer.
    None,
    /// It must call one.
    Required,
}

/// A declared tool. [`DeclaredTool::definition`] is asked for once, at the first render or when the
/// conversation is stored, whichever comes first.
pub trait DeclaredTool: Send + Sync {
    /// Its name, at no cost.
    fn name(&self) -> &str;

    /// What the model is told.
    fn definition(&self) -> ToolDefinition;
}

impl DeclaredTool for ToolDefinition {
    fn name(&self) -> &str {
        &self.name
    }

    fn definition(&self) -> ToolDefinition {
        self.clone()
    }
}

/// Everything declared in a conversation, in order, add-only.
#[derive(Clone, Default)]
pub struct Palette {
    /// Names are unique.
    declared: Vec<Arc<Declared>>,
}

/// A tool and what it said when it was asked. Shared by the copies of a palette, so that none of
/// them asks again.
struct Declared {
    tool: Arc<dyn DeclaredTool>,
    definition: OnceLock<ToolDefinition>,
}

impl Palette {
    /// Adds a tool unless its name is taken; whether it was added.
    pub fn declare(&mut self, tool: Arc<dyn DeclaredTool>) -> bool {
        let is_new = self.names().all(|known| known != tool.name());
        if is_new {
            self.declared.push(Arc::new(Declared { tool, definition: OnceLock::new() }));
        }
        is_new
    }

    /// The names, in the order of declaration; asks no tool for its definition.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(|declared| declared.tool.name())
    }

    /// The definitions, in the order of declaration. A tool that has not been asked yet is asked.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.declared.iter().map(|declared| declared.definition())
    }

    /// The definitions of the tools whose name is wanted; the others are not asked.
    pub fn definitions_of(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &ToolDefinition> {
        let wanted = move |declared: &&Arc<Declared>| is_wanted(declared.tool.name());
        self.declared.iter().filter(wanted).map(|declared| declared.definition())
    }
}

impl Declared {
    fn definition(&self) -> &ToolDefinition {
        self.definition.get_or_init(|| {
            // The name that was declared is the one that calls come under.
            ToolDefinition { name: self.tool.name().to_owned(), ..self.tool.definition() }
        })
    }
}

impl fmt::Debug for Palette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests;
