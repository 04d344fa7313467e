use super::*;

#[test]
fn an_empty_answer_is_explained_by_its_finish_reason() {
    assert_eq!(
        no_answer_text(FinishReason::Length),
        "Generation stopped during reasoning, before an answer was written. Send a follow-up asking for the \
         final answer directly, or lower the reasoning effort."
    );
    let stopped =
        "The model finished its turn without writing an answer. Send a follow-up asking it to continue.";
    for reason in [FinishReason::Stop, FinishReason::ToolCalls, FinishReason::Refusal] {
        assert_eq!(no_answer_text(reason), stopped);
    }
}

#[test]
fn an_overflow_is_told_with_the_numbers_that_are_known() {
    let told =
        |prompt_tokens, window_tokens| failure_text(&Failure::Overflow { prompt_tokens, window_tokens });
    assert_eq!(
        told(Some(9030), Some(8192)),
        "[ERROR_MESSAGE_SYSTEM] This conversation no longer fits the model's context window (the request \
         needs about 9030 tokens; the window holds 8192). Start a new conversation or send less at once."
    );
    assert_eq!(
        told(None, None),
        "[ERROR_MESSAGE_SYSTEM] This conversation no longer fits the model's context window. Start a new \
         conversation or send less at once."
    );
    assert!(told(Some(9030), None).contains("(the request needs about 9030 tokens)"));
    assert!(told(None, Some(8192)).contains("(the window holds 8192 tokens)"));
}

#[test]
fn every_failure_begins_with_the_sentinel_and_says_what_to_do() {
    let detail = || "connection refused\n".to_owned();
    let failures = [
        Failure::Overflow { prompt_tokens: None, window_tokens: None },
        Failure::Engine { detail: detail() },
        Failure::Transient { detail: detail() },
        Failure::Refused { detail: detail() },
        Failure::ContentRefused { detail: detail() },
        Failure::Silent { waited_s: 120 },
        Failure::Internal,
    ];
    insta::assert_snapshot!(failures.each_ref().map(failure_text).join("\n"));
}

#[test]
fn a_fault_of_ours_says_nothing_of_itself() {
    assert_eq!(failure_text(&Failure::Internal), GENERIC_ERROR);
    assert!(GENERIC_ERROR.starts_with(ERROR_SENTINEL));
}

#[test]
fn a_failure_without_a_detail_ends_with_the_advice() {
    let text = failure_text(&Failure::Engine { detail: " \n".into() });
    assert!(text.ends_with("Ask again to start it anew."), "{text}");
}

#[test]
fn of_an_engine_only_the_first_line_is_told_and_a_long_one_cut() {
    let told = |detail: &str| failure_text(&Failure::Engine { detail: detail.into() });
    let text = told("\nllama-server ended with exit status: 3 \nGGML_ASSERT(false) failed\n");
    assert!(text.ends_with("It said: llama-server ended with exit status: 3"), "{text}");
    let line = "ü".repeat(ENGINE_LINE_CHARS_MAX);
    assert!(told(&line).ends_with(&format!(": {line}")));
    assert!(told(&format!("{line}x")).ends_with(&format!(": {line}…")));
}

#[test]
fn a_servers_message_is_told_whole_unless_it_is_long() {
    let message = format!("one\n{}", "ü".repeat(SERVER_MESSAGE_CHARS_MAX - 4));
    for (detail, end) in [(message.clone(), message.clone()), (format!("{message}x"), format!("{message}…"))]
    {
        for failure in [
            Failure::Refused { detail: detail.clone() },
            Failure::Transient { detail: detail.clone() },
            Failure::ContentRefused { detail },
        ] {
            assert!(failure_text(&failure).ends_with(&format!("It said: {end}")), "{failure:?}");
        }
    }
}
