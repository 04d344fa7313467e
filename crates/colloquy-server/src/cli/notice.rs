//! The one line that says that the default model is a toy, and what to do about it.

use colloquy_models::{install::DEFAULT_MODEL_NAME as TOY, machine};

/// The notice where people meet a model; nothing for a model they chose themselves.
pub(super) fn for_model(name: &str) -> Option<String> {
    (name == TOY).then(|| text(machine::recommend(machine::memory())))
}

fn text(fitting: &str) -> String {
    format!(
        "{TOY} is a toy; this machine could carry {fitting}: `colloquy models add --gguf PATH --default` or \
         `colloquy models add --base-url URL --model NAME --window N --default`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_toy_is_called_one_and_in_one_line() {
        assert_eq!(for_model("qwen3"), None);
        let notice = for_model(TOY).expect("a notice");
        assert!(notice.starts_with("SmolLM2-135M-Instruct is a toy"), "{notice}");
        assert!(notice.contains("--gguf PATH") && notice.contains("--base-url URL"), "{notice}");
        assert!(!notice.contains('\n'), "{notice}");
    }
}
