//! Which models are toys, and the one line that says so wherever people meet one.
//!
//! The page, the terminal and `doctor` show the line that the server gives with a model, so that
//! they cannot differ, and so that it speaks of the machine on which the model runs.

use colloquy::ports::{EngineKind, LlmRow};
use colloquy_models::machine::{self, Memory};

/// Below that many billions of parameters a model shows that everything works and little else.
const TOY_BELOW_BILLIONS: f64 = 0.5;

/// The notice for a local model that is a toy; nothing for any other.
pub(crate) fn notice(llm: &LlmRow) -> Option<String> {
    is_toy(llm).then(|| text(&llm.name, machine::memory()))
}

fn is_toy(llm: &LlmRow) -> bool {
    match llm.engine {
        EngineKind::Llama { .. } => llm.param_size.is_some_and(|billions| billions < TOY_BELOW_BILLIONS),
        EngineKind::OpenAi { .. } => false,
    }
}

fn text(name: &str, memory: Memory) -> String {
    format!(
        "{name} is a toy; this machine could carry {}. For a better one: `colloquy models add --gguf PATH \
         --default`, or `colloquy models add --base-url URL --model NAME --window N --default`.",
        machine::recommend(memory)
    )
}

#[cfg(test)]
mod tests {
    use colloquy_core::message::LlmId;

    use super::*;

    fn row(engine: EngineKind, param_size: Option<f64>) -> LlmRow {
        LlmRow {
            id: LlmId(1),
            name: "tiny".into(),
            engine,
            context_window: None,
            param_size,
            size_bytes: None,
            generation_config: None,
            is_default: true,
            created_at: 0,
        }
    }

    #[test]
    fn only_a_local_model_that_is_known_to_be_small_is_a_toy() {
        let local = || EngineKind::Llama { path: "/tiny.gguf".into() };
        let remote =
            EngineKind::OpenAi { base_url: "http://x/v1".into(), model: "m".into(), api_key_env: None };
        assert!(is_toy(&row(local(), Some(0.135))));
        assert!(is_toy(&row(local(), Some(TOY_BELOW_BILLIONS.next_down()))));
        assert!(!is_toy(&row(local(), Some(TOY_BELOW_BILLIONS))));
        assert!(!is_toy(&row(local(), None)));
        assert!(!is_toy(&row(remote, Some(0.135))));
    }

    #[test]
    fn the_notice_is_one_line_with_what_fits_and_both_ways_to_it() {
        let notice = text("tiny", Memory { total_bytes: 8 << 30, available_bytes: 0 });
        assert!(notice.starts_with("tiny is a toy; this machine could carry a 7-8B model"), "{notice}");
        assert!(notice.contains("--gguf PATH") && notice.contains("--base-url URL"), "{notice}");
        assert!(!notice.contains('\n'), "{notice}");
    }
}
