use super::*;

fn settings() -> Settings {
    Settings {
        temperature: 0.2,
        top_p: 0.95,
        max_tokens: 1024,
        custom_prompt: String::new(),
        web_search_enabled: false,
        reasoning_effort: Effort::Medium,
        compaction_threshold: 80,
    }
}

fn broken(settings: &Settings) -> Vec<&'static str> {
    settings.check().iter().map(|range| range.field).collect()
}

#[test]
fn every_range_holds_at_its_limits_and_breaks_just_outside() {
    let lowest =
        Settings { temperature: 0.0, top_p: 0.0, max_tokens: 1, compaction_threshold: 50, ..settings() };
    let highest = Settings {
        temperature: 2.0,
        top_p: 1.0,
        max_tokens: 32_768,
        compaction_threshold: 90,
        custom_prompt: "é".repeat(4096),
        ..settings()
    };
    assert_eq!(broken(&lowest), Vec::<&str>::new());
    assert_eq!(broken(&highest), Vec::<&str>::new());

    assert_eq!(broken(&Settings { temperature: 2.000_1, ..settings() }), ["temperature"]);
    assert_eq!(broken(&Settings { temperature: f64::NAN, ..settings() }), ["temperature"]);
    assert_eq!(broken(&Settings { top_p: -0.000_1, ..settings() }), ["top_p"]);
    assert_eq!(broken(&Settings { max_tokens: 0, ..settings() }), ["max_tokens"]);
    assert_eq!(broken(&Settings { max_tokens: 32_769, ..settings() }), ["max_tokens"]);
    assert_eq!(broken(&Settings { custom_prompt: "é".repeat(4097), ..settings() }), ["custom_prompt"]);
    for threshold in [45, 51, 89, 95] {
        assert_eq!(
            broken(&Settings { compaction_threshold: threshold, ..settings() }),
            ["compaction_threshold"]
        );
    }
}

#[test]
fn a_change_touches_and_checks_only_what_it_names() {
    let change = SettingsChange { top_p: Some(0.5), custom_prompt: Some("x".into()), ..Default::default() };
    let changed = change.over(settings());
    assert_eq!(changed, Settings { top_p: 0.5, custom_prompt: "x".into(), ..settings() });
    assert_eq!(SettingsChange::default().over(changed.clone()), changed);

    assert_eq!(SettingsChange::default().check(), vec![]);
    let broken = SettingsChange { max_tokens: Some(0), top_p: Some(1.0), ..Default::default() }.check();
    assert_eq!(broken.iter().map(|range| range.field).collect::<Vec<_>>(), ["max_tokens"]);
}

#[test]
fn effort_names_read_back() {
    for level in Effort::ALL {
        assert_eq!(Effort::from_name(level.name()), Some(level));
    }
    assert_eq!(Effort::from_name("maximum"), None);
}
