use super::*;

const PAGE: &str = include_str!("../../../../docs/problems.md");

#[test]
fn every_problem_is_documented_with_its_code_and_status() {
    for code in Code::ALL {
        let (status, name, _) = code.row();
        let heading = format!("## {}", code.type_path());
        let section =
            PAGE.split(&heading).nth(1).unwrap_or_else(|| panic!("docs/problems.md lacks {heading}"));
        let section = section.split("\n## ").next().unwrap();
        let facts = format!("`{name}`, {}", status.as_u16());
        assert!(section.contains(&facts), "{heading} should say {facts}");
    }
    let documented = PAGE.matches("\n## /problems/").count();
    assert_eq!(documented, Code::ALL.len(), "docs/problems.md documents a problem that does not exist");
}

#[test]
fn a_problem_is_one_document_with_both_error_forms() {
    let problem =
        Problem::of_ask(ConversationId(7), AskError::TurnInProgress { turn_uid: Some(Uid([0xab; 16])) });
    insta::assert_json_snapshot!(problem.document("r-1"));
}

#[test]
fn a_violated_rule_names_its_place() {
    let error =
        FieldError { part: "body", name: Some("top_p".into()), msg: "is off".into(), kind: "value_error" };
    insta::assert_json_snapshot!(Problem::invalid(vec![error]).document("r-1"));
}

#[test]
fn a_cause_in_the_store_is_not_told() {
    let cause = std::io::Error::other("SELECT secret");
    let problem = Problem::from(StoreError::Corrupt(cause.into()));
    let document = serde_json::to_string(&problem.document("r-1")).unwrap();
    assert_eq!(problem.status(), 500);
    assert!(!document.contains("SELECT"), "{document}");
}

#[test]
fn every_error_of_the_service_has_its_code() {
    let id = ConversationId(7);
    let of = |error| Problem::of_service(id, error).code;
    assert_eq!(of(ServiceError::NoSuchConversation), Code::ConversationNotFound);
    assert_eq!(of(ServiceError::NoSuchLlm { llm_id: Some(LlmId(1)) }), Code::ModelNotFound);
    assert_eq!(of(ServiceError::NoSuchLlm { llm_id: None }), Code::ModelNotFound);
    assert_eq!(of(ServiceError::OutOfRange(Vec::new())), Code::InvalidInput);
    assert_eq!(of(ServiceError::TurnInProgress { turn_uid: None }), Code::TurnInProgress);
    assert_eq!(of(ServiceError::Store(StoreError::StaleOwner)), Code::StateConflict);
    assert_eq!(of(ServiceError::Store(StoreError::StaleParent { tip_id: None })), Code::StaleParent);
    assert_eq!(of(ServiceError::Store(StoreError::NoSuchConversation)), Code::ConversationNotFound);
    assert_eq!(of(ServiceError::Store(StoreError::NameTaken)), Code::StateConflict);
    assert_eq!(of(ServiceError::Store(StoreError::Newer { what: "a row".into() })), Code::DatabaseError);
    let ask = |error| Problem::of_ask(id, error).code;
    assert_eq!(ask(AskError::NoSuchConversation), Code::ConversationNotFound);
    assert_eq!(ask(AskError::Blank), Code::InvalidInput);
    assert_eq!(ask(AskError::Unbound), Code::ConversationUnbound);
    assert_eq!(ask(AskError::ShuttingDown), Code::ShuttingDown);
    assert_eq!(ask(AskError::Store(StoreError::TurnInProgress { turn_uid: None })), Code::TurnInProgress);
}
