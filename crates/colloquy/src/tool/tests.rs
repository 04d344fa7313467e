use super::*;

#[test]
fn the_suffix_of_a_description_says_what_a_call_costs() {
    assert_eq!(suffix(ToolKind::InMemory, Weight::of(1), false), " [in memory, weight: 1]");
    assert_eq!(suffix(ToolKind::ApiCall, Weight::between(9, 4), true), " [api call, weight: 4-9, read-only]");
    assert_eq!(suffix(ToolKind::Thinker { level: 2 }, Weight::of(200), false), " [thinker L2, weight: 100]");
}

#[test]
fn what_a_decoder_refuses_is_never_quoted() {
    #[derive(Debug, serde::Deserialize)]
    enum Mood {
        Good,
    }
    let refused = serde_json::from_str::<Mood>("\"SECRET\"").unwrap_err();
    assert!(refused.to_string().contains("SECRET"));
    assert!(!kind_of(&refused).contains("SECRET"));
}

struct Named(&'static str);

#[async_trait]
impl Tool for Named {
    type Input = ();
    type Output = ();

    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> String {
        "Does nothing".into()
    }

    async fn call(&self, (): (), _context: ToolContext) -> Result<(), ToolError> {
        Ok(())
    }
}

#[test]
fn a_name_that_some_provider_would_refuse_is_refused_at_once() {
    let longest = "a".repeat(64);
    assert!(Erased::new(Named(longest.leak())).is_ok());
    for name in ["", "two words", "dot.ted", "größe", "a".repeat(65).leak()] {
        let refused = Erased::new(Named(name)).err();
        assert_eq!(refused, Some(DescribeError::Name { name: name.into() }));
    }
}
