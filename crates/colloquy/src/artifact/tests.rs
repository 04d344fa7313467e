use std::sync::{Arc, Mutex};

use colloquy_core::artifact::{self as stored, IdDraw, MARK, Registry};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Artifact)]
#[serde(rename_all = "camelCase")]
#[artifact(alias = "link:cite")]
struct Cite {
    title: String,
    #[artifact(summarize(size = "brief", threshold = 20, hint = "what was found", llm_safe))]
    abstract_text: String,
    #[artifact(ignore)]
    row_id: Option<u64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Artifact)]
#[artifact(alias = "link:cite:pubmed")]
struct Pubmed {
    title: String,
    #[serde(rename = "abstractText")]
    #[artifact(summarize(static_summary = "an abstract"))]
    text: String,
    pmid: u64,
}

#[derive(Serialize, Deserialize, JsonSchema, Artifact)]
#[artifact(alias = "thread")]
struct Thread {
    text: String,
    replies: Vec<Held<Thread>>,
}

/// Ids in a row.
#[derive(Default)]
struct InARow(u32);

impl IdDraw for InARow {
    fn draw(&mut self) -> String {
        self.0 += 1;
        format!("{:06}", self.0 - 1)
    }
}

fn cite(title: &str) -> Cite {
    Cite { title: title.into(), abstract_text: "short".into(), row_id: Some(7) }
}

fn pubmed() -> Pubmed {
    Pubmed { title: "P".into(), text: "t".into(), pmid: 41 }
}

/// Registers a value as a conversation does, and gives it as it is held.
fn register(registry: &mut Registry, value: &impl Serialize) -> Value {
    let mut marked = serde_json::to_value(value).unwrap();
    registry.register(&mut marked, &mut InARow::default());
    marked
}

fn register_and_read<T: Artifact>(registry: &mut Registry, artifact: &Held<T>) -> Held<T> {
    Held::from_marked(register(registry, artifact)).unwrap()
}

fn schema_of<T: JsonSchema>() -> Value {
    schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

#[test]
fn the_derive_writes_down_alias_and_markers_under_the_names_on_the_wire() {
    assert_eq!(Cite::ALIAS, "link:cite");
    let summarize = Meaning::Summarizable {
        size: SummarySize::Brief,
        threshold: Some(20),
        hint: Some("what was found"),
        llm_safe: true,
        static_summary: None,
    };
    let ignored = Marker { field: "rowId", meaning: Meaning::Ignored };
    assert_eq!(Cite::markers(), [Marker { field: "abstractText", meaning: summarize }, ignored]);
}

#[test]
fn the_schema_of_an_artifact_is_that_of_its_type_with_the_keywords() {
    let schema = schema_of::<Held<Cite>>();
    assert_eq!((&schema["x-colloquy-artifact"], &schema["title"]), (&json!("link:cite"), &json!("Cite")));
    let text = &schema["properties"]["abstractText"];
    let keyword = json!({ "size": "brief", "threshold": 20, "hint": "what was found", "llm_safe": true });
    assert_eq!((&text["type"], &text["x-colloquy-summarize"]), (&json!("string"), &keyword));
    assert_eq!(schema["properties"]["rowId"]["x-colloquy-ignore"], true);
    let plain = schema_of::<Cite>();
    assert!(!plain.to_string().contains("x-colloquy"), "the type itself is plain data");
}

#[test]
fn a_type_may_hold_artifacts_of_itself() {
    let schema = schema_of::<Held<Thread>>();
    let items = schema["properties"]["replies"]["items"]["$ref"].as_str().unwrap();
    assert!(schema.pointer(items.trim_start_matches('#')).unwrap().get("x-colloquy-artifact").is_some());
    let thread = |text: &str, replies| Held::new(Thread { text: text.into(), replies });
    let whole = thread("a", vec![thread("b", vec![thread("c", vec![])]), thread("d", vec![])]);
    let mut registry = Registry::default();
    let back = register_and_read(&mut registry, &whole);
    assert_eq!(back.replies[0].replies[0].text, "c");
    assert_eq!((registry.n_listed(), registry.all().count()), (1, 4));
    let mut types = ArtifactTypes::default();
    types.register::<Thread>().unwrap();
    assert!(registry.dump(&types.descriptors()).unwrap().contains(r#""text":"c""#));
}

#[test]
fn a_new_artifact_is_written_marked_and_gets_its_reference_from_the_registry() {
    let fresh = Held::new(cite("T"));
    assert_eq!(fresh.reference(), None);
    let marked = serde_json::to_value(&fresh).unwrap();
    let value = json!({ "title": "T", "abstractText": "short", "rowId": 7 });
    assert_eq!(marked, json!({ MARK: { "alias": "link:cite", "ref": null, "value": value } }));
    let held = register_and_read(&mut Registry::default(), &fresh);
    assert_eq!(held.reference().unwrap().as_str(), "«artifact:link:cite~000000»");
    assert_eq!(*held, *fresh);
    assert_eq!(held.clone().reference(), held.reference());
}

#[test]
fn an_artifact_crosses_two_conversations_with_its_reference_and_its_bytes() {
    let (mut first, mut second) = (Registry::default(), Registry::default());
    let made = register_and_read(&mut first, &Held::new(pubmed()));
    // The second program knows only the general type, and must not lose what that does not name.
    let seen: Held<Cite> = Held::from_marked(first.marked(made.reference().unwrap()).unwrap()).unwrap();
    register(&mut second, &vec![seen.clone()]);
    assert_eq!(second, first);
    let back: Held<Pubmed> = Held::from_marked(second.marked(seen.reference().unwrap()).unwrap()).unwrap();
    assert_eq!(*back, pubmed());
}

// behaviours: 124
#[test]
fn an_alias_that_is_unknown_is_read_as_the_nearest_one_that_is_known() {
    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    let mut registry = Registry::default();
    let marked = register(&mut registry, &Held::new(pubmed()));
    let stored: Vec<_> = registry.all().cloned().collect();
    let restored = Registry::restored(types.admit(stored.clone()));
    let read: Held<Cite> = Held::from_marked(restored.marked(&stored[0].reference).unwrap()).unwrap();
    assert_eq!((read.title.as_str(), read.row_id), ("P", None));
    // Never the other way round.
    assert!(Held::<Thread>::from_marked(marked).is_none());
    let general = register(&mut registry, &Held::new(cite("T")));
    assert!(Held::<Pubmed>::from_marked(general).is_none());
}

/// Counts what is logged as a warning, and keeps its fields as text.
#[derive(Default, Clone)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!("{field}={value:?} "));
        });
        self.0.lock().unwrap().push(text);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

// behaviours: 123
#[test]
fn a_stored_artifact_of_an_unknown_alias_is_left_out_with_a_warning() {
    let mut registry = Registry::default();
    register(&mut registry, &(Held::new(cite("T")), Held::new(Thread { text: "x".into(), replies: vec![] })));
    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    let warnings = Warnings::default();
    let admitted = tracing::subscriber::with_default(warnings.clone(), || {
        types.admit(registry.all().cloned().collect())
    });
    assert_eq!(admitted.iter().map(|artifact| artifact.alias.as_str()).collect::<Vec<_>>(), ["link:cite"]);
    let warnings = warnings.0.lock().unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("artifact:thread~000001"), "{warnings:?}");
}

#[test]
fn a_list_with_an_element_of_an_unknown_type_fails_to_be_read_instead_of_being_shortened() {
    let mut registry = Registry::default();
    let list = Held::new(ListArtifact::new([Thread { text: "x".into(), replies: vec![] }].map(Held::new)));
    register(&mut registry, &list);
    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    let reference = registry.listed().next().unwrap().reference.clone();
    let restored = Registry::restored(types.admit(registry.all().cloned().collect()));
    assert!(restored.find(reference.as_str()).is_some(), "the list itself is known");
    assert_eq!(restored.marked(&reference), None);
}

#[test]
fn a_list_is_read_with_all_its_elements_and_what_it_says_of_itself() {
    let mut registry = Registry::default();
    let source = stored::ArtifactRef::parse("list~abcdef").unwrap();
    let list = ListArtifact::new([cite("a"), cite("b")].map(Held::new));
    let list = Held::new(list.derived_from(&source).made_by("read_all", "find the year"));
    let read = register_and_read(&mut registry, &list);
    assert_eq!(read.iterands.iter().map(|cite| cite.title.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(read.iterands[1].reference().unwrap().as_str(), "«artifact:link:cite~000001»");
    assert_eq!(
        (read.iterand_type.as_str(), read.derived_from_ref.as_deref()),
        ("link:cite", Some(source.as_str()))
    );
    assert_eq!(read.worker_tool_name.as_deref(), Some("read_all"));
    assert_eq!(read.instruction.as_deref(), Some("find the year"));
    let marked = registry.marked(read.reference().unwrap()).unwrap();
    assert!(Held::<ListArtifact<Thread>>::from_marked(marked).is_none(), "its elements are no threads");
}

#[test]
fn a_gated_answer_is_decoded_with_the_registrys_own_artifacts() {
    #[derive(Deserialize, JsonSchema)]
    struct Verdict {
        best: Held<Cite>,
        /// A more particular artifact is one of these too.
        second: Option<Held<Cite>>,
        third: Option<Held<Cite>>,
        threads: Vec<Held<Thread>>,
    }

    let mut registry = Registry::default();
    let inner = Held::new(Thread { text: "b".into(), replies: vec![] });
    let thread = Held::new(Thread { text: "a".into(), replies: vec![inner] });
    register(&mut registry, &(Held::new(cite("T")), Held::new(pubmed()), thread));
    let descriptor = crate::tool::describe::<Verdict>().unwrap();
    let mut answer = json!({
        "best": { "artifact_ref": "link:cite~000000", "title": "invented" },
        "second": { "@ref": "«artifact:link:cite:pubmed~000001»" },
        "third": null,
        "threads": [{ "@ref": "thread~000002" }, { "@ref": "thread~000003" }],
    });
    registry.gate(&mut answer, &descriptor).unwrap();
    let verdict: Verdict = serde_json::from_value(answer).unwrap();
    assert_eq!((*verdict.best).clone(), cite("T"));
    assert_eq!((verdict.second.unwrap().title.as_str(), verdict.third.is_none()), ("P", true));
    assert_eq!((verdict.threads[0].text.as_str(), verdict.threads[1].replies[0].text.as_str()), ("b", "b"));
}

#[test]
fn plain_data_is_never_read_as_an_artifact() {
    let plain = serde_json::to_value(cite("T")).unwrap();
    let error = serde_json::from_value::<Held<Cite>>(plain).unwrap_err().to_string();
    assert_eq!(error, "an artifact of a registry stands here, not plain data");
    let reference = serde_json::from_value::<Held<Cite>>(json!({ "@ref": "link:cite~000000" }));
    assert!(reference.is_err(), "only the gate turns a reference into an artifact");
}

#[test]
fn a_registered_type_tells_the_registry_what_a_model_may_read() {
    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    let mut registry = Registry::default();
    let text = "twenty-one characters".to_owned();
    register(&mut registry, &Held::new(Cite { abstract_text: text, ..cite("T") }));
    let dump = registry.dump(&types.descriptors()).unwrap();
    assert!(!dump.contains("rowId") && dump.contains("[SUMMARY: 21 chars]"), "{dump}");
}

#[test]
fn two_types_cannot_have_one_alias_and_one_type_may_be_added_twice() {
    #[derive(Serialize, Deserialize, JsonSchema, Artifact)]
    #[artifact(alias = "link:cite")]
    struct Other {
        x: u8,
    }

    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    types.register::<Cite>().unwrap();
    assert_eq!(types.register::<Other>(), Err(RegisterError::TakenAlias { alias: "link:cite" }));
    assert!(types.can_read("link:cite:other") && types.can_read("list") && !types.can_read("link"));
}

#[test]
fn an_alias_that_was_written_by_hand_is_checked_when_it_is_registered() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct ByHand {}

    impl Artifact for ByHand {
        const ALIAS: &'static str = "By Hand";
    }

    let refused = ArtifactTypes::default().register::<ByHand>();
    assert_eq!(refused, Err(RegisterError::NoAlias { alias: "By Hand" }));
}

#[test]
fn a_field_of_any_type_can_be_marked() {
    #[derive(Serialize, Deserialize, JsonSchema, Artifact)]
    #[artifact(alias = "raw")]
    struct Raw {
        #[artifact(ignore)]
        data: Value,
    }

    assert_eq!(schema_of::<Held<Raw>>()["properties"]["data"]["x-colloquy-ignore"], true);
}

proptest! {
    /// I11 with types: what a program hands in is what it gets out, bit by bit.
    #[test]
    fn a_typed_value_comes_out_as_it_went_in(
        title in any::<String>(),
        texts in prop::collection::vec(any::<String>(), 0..4),
        row_id in any::<Option<u64>>(),
    ) {
        let cites = texts.into_iter().map(|text| Cite { title: title.clone(), abstract_text: text, row_id });
        let cites: Vec<Cite> = cites.collect();
        let mut registry = Registry::default();
        let list = Held::new(ListArtifact::new(cites.iter().cloned().map(Held::new)));
        let read = register_and_read(&mut registry, &list);
        let stored: Vec<stored::Artifact> = registry.all().filter(|artifact| !artifact.top_level).cloned().collect();
        let list = registry.listed().next().cloned().unwrap();
        let restored = Registry::restored(stored.into_iter().chain([list]).collect());
        let again: Held<ListArtifact<Cite>> =
            Held::from_marked(restored.marked(read.reference().unwrap()).unwrap()).unwrap();
        for read in [read, again] {
            prop_assert_eq!(read.iterands.iter().map(|cite| (**cite).clone()).collect::<Vec<_>>(), cites.clone());
        }
    }
}
