use super::*;

const GIB: u64 = 1 << 30;

fn header(context_length: Option<u32>, cache_bytes_per_token: Option<u64>) -> Header {
    Header {
        architecture: Some("llama".into()),
        name: None,
        context_length,
        sliding_window: false,
        parameters_billions: 0.1,
        quantisation: None,
        chat_template: None,
        control_tokens: Vec::new(),
        generation_config: None,
        cache_bytes_per_token,
        file_bytes: 0,
    }
}

fn memory(gib: u64) -> Memory {
    Memory { total_bytes: gib * GIB, available_bytes: gib * GIB }
}

fn plan(header: &Header, gib: u64) -> Plan {
    Plan::new("/m.gguf".into(), header, memory(gib))
}

#[test]
fn the_window_is_the_trained_one_while_a_quarter_of_the_memory_holds_its_cache() {
    let small = header(Some(8_192), Some(23_040));
    assert_eq!(plan(&small, 24).window_tokens, Some(8_192));
    // 131,072 tokens of 128 KiB each would be 16 GiB; 6 GiB hold 49,152 of them.
    let large = header(Some(131_072), Some(128 << 10));
    assert_eq!(plan(&large, 24).window_tokens, Some(49_152));
}

#[test]
fn the_window_never_falls_below_a_useful_one_nor_exceeds_the_trained_one() {
    assert_eq!(plan(&header(Some(131_072), Some(1 << 20)), 1).window_tokens, Some(WINDOW_TOKENS_MIN));
    assert_eq!(plan(&header(Some(512), Some(1 << 20)), 1).window_tokens, Some(512));
    assert_eq!(plan(&header(Some(131_072), None), 1).window_tokens, Some(131_072));
    assert_eq!(plan(&header(None, None), 1).window_tokens, None);
}

#[test]
fn the_prompt_cache_is_an_eighth_of_the_free_memory_between_two_borders() {
    let any = header(None, None);
    assert_eq!(plan(&any, 24).cache_mib, 3_072);
    assert_eq!(plan(&any, 1).cache_mib, CACHE_MIB_MIN);
    assert_eq!(plan(&any, 512).cache_mib, CACHE_MIB_MAX);
}

#[test]
fn a_command_line_has_small_batches_and_only_flags_that_the_engine_knows() {
    let mut plan = plan(&header(Some(8_192), Some(23_040)), 24);
    let text = |plan: &Plan, flags| {
        let words = plan.arguments(4_242, flags);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        text(&plan, Flags::default()),
        "-m /m.gguf --host 127.0.0.1 --port 4242 -np 1 -b 128 -ub 128 -c 8192"
    );
    let all = Flags { cache_ram: true, swa_full: true, no_webui: true, jinja: true };
    assert!(text(&plan, all).ends_with("-c 8192 --jinja --no-webui --cache-ram 3072"));
    plan.sliding_window = true;
    assert!(text(&plan, all).ends_with("--cache-ram 3072 --swa-full"));
}
