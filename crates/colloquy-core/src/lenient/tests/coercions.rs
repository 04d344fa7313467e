use super::*;

/// The description of one required field, `value`.
fn field(shape: Shape) -> Descriptor {
    let field = Field { name: "value".into(), required: true, node: Node { shape, ..Node::default() } };
    let object = Object { name: "Place".into(), fields: vec![field] };
    Descriptor { root: Node { shape: Shape::Object(object), ..Node::default() } }
}

#[track_caller]
fn check(shape: &Shape, cases: &[(Value, Value)]) {
    for (written, expected) in cases {
        let read = coerce(json!({ "value": written }), &field(shape.clone()));
        assert_eq!(read, Ok(json!({ "value": expected })), "{written}");
    }
}

#[track_caller]
fn check_refused(shape: &Shape, written: &[Value]) {
    for value in written {
        let error = coerce(json!({ "value": value }), &field(shape.clone())).unwrap_err();
        assert!(matches!(&error, ReadError::Mistyped { path, .. } if path == "value"), "{value}: {error:?}");
    }
}

// behaviours: 89
#[test]
fn a_boolean_is_read_from_its_words_and_digits() {
    let shape = Shape::Boolean;
    for yes in
        [json!(true), json!("yes"), json!("Y"), json!(" TRUE "), json!("t"), json!("1"), json!(1), json!(1.0)]
    {
        check(&shape, &[(yes, json!(true))]);
    }
    for no in [json!(false), json!("no"), json!("N"), json!("False"), json!("f"), json!("0"), json!(0)] {
        check(&shape, &[(no, json!(false))]);
    }
    check_refused(&shape, &[json!(2), json!(-1), json!("maybe"), json!(""), json!([]), json!({})]);
}

#[test]
fn an_integer_is_read_from_whole_floats_and_numeric_texts() {
    let shape = Shape::Integer { min: -10, max: 9_007_199_254_740_993 };
    check(
        &shape,
        &[
            (json!(5), json!(5)),
            (json!(5.0), json!(5)),
            (json!("5"), json!(5)),
            (json!(" 5.0 "), json!(5)),
            (json!("-7"), json!(-7)),
            (json!("9007199254740993"), json!(9_007_199_254_740_993_u64)),
        ],
    );
    check_refused(
        &shape,
        &[json!(5.5), json!("5.5"), json!("five"), json!(true), json!(-11), json!(1e300), json!([5])],
    );
}

#[test]
fn a_float_that_may_have_lost_digits_is_no_integer() {
    let shape = Shape::Integer { min: 0, max: u64::MAX.into() };
    check(&shape, &[(json!(9_007_199_254_740_991.0), json!(9_007_199_254_740_991_u64))]);
    check_refused(&shape, &[json!(9_007_199_254_740_992.0), json!("9007199254740993.0")]);
}

#[test]
fn a_blank_text_is_no_number_and_no_date() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Optional {
        count: Option<u8>,
        #[serde(default)]
        size: u8,
        #[schemars(extend("format" = "date"))]
        day: Option<String>,
        text: Option<String>,
    }
    let written = json!({ "count": "", "size": " ", "day": "", "text": "" });
    let expected = json!({ "count": null, "day": null, "text": "" });
    assert_eq!(coerce(written, &described::<Optional>()), Ok(expected));
    let missing = coerce(json!({ "value": "" }), &field(Shape::Number)).unwrap_err();
    assert_eq!(missing.to_string(), "value is missing: it must be a number");
}

#[test]
fn a_number_is_read_from_a_numeric_text() {
    check(&Shape::Number, &[(json!("2.5"), json!(2.5)), (json!("3"), json!(3)), (json!(4), json!(4))]);
    check_refused(&Shape::Number, &[json!("NaN"), json!("inf"), json!("much"), json!(true)]);
}

// behaviours: 91
#[test]
fn a_date_is_read_from_its_parts_or_from_a_moment() {
    let day = json!("2024-03-01");
    for written in [
        json!("2024-03-01"),
        json!("2024-03-01T10:15:00+02:00"),
        json!("2024-03-01 10:15"),
        json!([2024, 3, 1]),
        json!([2024, 3, 1, 10, 15]),
        json!("2024/3/1"),
        json!("2024.03.01"),
        json!("March 1, 2024"),
        json!("1 Mar 2024"),
        json!("1st of March 2024"),
    ] {
        check(&Shape::Date, &[(written, day.clone())]);
    }
    check(&Shape::Date, &[(json!("2024-02-29"), json!("2024-02-29"))]);
    check_refused(
        &Shape::Date,
        &[
            json!("01/02/2024"),
            json!("2024-03"),
            json!("2024-13-01"),
            json!("2023-02-29"),
            json!("2024-03-01 25:00"),
            json!("2024-03-01 at noon"),
            json!("Ma 1 2024"),
            json!("tomorrow"),
            json!(20_240_301),
            json!([2024, 3]),
            json!([2024, 3, 32]),
            json!([2024, 3, 1, 10]),
            json!({ "year": 2024 }),
        ],
    );
}

#[test]
fn a_moment_is_read_from_its_parts_and_a_day_is_its_start() {
    check(
        &Shape::DateTime,
        &[
            (json!("2024-03-01T10:15:30.25+01:00"), json!("2024-03-01T10:15:30.25+01:00")),
            (json!("2024-03-01"), json!("2024-03-01T00:00:00Z")),
            (json!("2024-03-01 10:15"), json!("2024-03-01T10:15:00Z")),
            (json!("2024-03-01T10:15:00 UTC"), json!("2024-03-01T10:15:00Z")),
            (json!("2024-03-01t10:15:00-0530"), json!("2024-03-01T10:15:00-05:30")),
            (json!("March 1, 2024 10:15:00"), json!("2024-03-01T10:15:00Z")),
            (json!([2024, 3, 1, 10, 15]), json!("2024-03-01T10:15:00Z")),
            (json!([2024, 3, 1, 10, 15, 30]), json!("2024-03-01T10:15:30Z")),
            (json!([2024, 3, 1, 10, 15, 30, 500]), json!("2024-03-01T10:15:30.000000500Z")),
        ],
    );
    let texts = [
        "2024-03-01T24:00",
        "2024-03-01T10",
        "2024-03-01T10:15:00 CET",
        "2024-03-01T10:15:00.",
        "2024-03-01T10:15:00+1",
        "10:15",
    ];
    check_refused(&Shape::DateTime, &texts.map(Value::from));
    check_refused(
        &Shape::DateTime,
        &[json!([2024, 3, 1, 24, 0]), json!([2024, 3, 1, 1, 1, 1, 1, 1]), json!(0)],
    );
}

// behaviours: 92
#[test]
fn an_enum_is_read_without_regard_to_case_and_out_of_an_object() {
    let shape = Shape::Enum(vec!["CONFIRMED".into(), "REFUTED".into()]);
    let confirmed = json!("CONFIRMED");
    for written in [
        json!("CONFIRMED"),
        json!(" confirmed "),
        json!({ "name": "Confirmed" }),
        json!({ "about": "what was found", "value": "CONFIRMED", "weight": 1 }),
    ] {
        check(&shape, &[(written, confirmed.clone())]);
    }
    let both = json!({ "a": "CONFIRMED", "b": "REFUTED" });
    check_refused(&shape, &[json!("open"), json!(""), json!(1), both, json!({})]);
}

#[test]
fn values_of_an_enum_that_differ_in_case_only_are_told_apart_or_refused() {
    let shape = Shape::Enum(vec!["ab".into(), "AB".into()]);
    check(&shape, &[(json!("AB"), json!("AB"))]);
    check_refused(&shape, &[json!("Ab")]);
}

#[test]
fn a_text_is_never_made_of_something_else() {
    check(&Shape::String, &[(json!(""), json!("")), (json!(" a "), json!(" a "))]);
    check_refused(&Shape::String, &[json!(1), json!(true), json!([]), json!({})]);
}

#[test]
fn properties_that_the_type_does_not_have_are_dropped() {
    assert_eq!(answer(r#"{"x": 1, "y": 2, "@type": "Answer"}"#), Ok(json!({ "x": 1 })));
}

#[test]
fn of_an_artifact_only_the_reference_is_read() {
    let shape = Shape::Artifact { alias: "link".into(), inner: Box::default() };
    let expected = json!({ "artifact_ref": "«artifact:link~a1b2c3»" });
    for key in ["artifact_ref", "@ref"] {
        let written = json!({ key: "«artifact:link~a1b2c3»", "doi": "10.1/invented" });
        let echoed = json!({ "@fields": written });
        check(&shape, &[(written, expected.clone()), (echoed, expected.clone())]);
    }
    check(&shape, &[(json!("link~a1b2c3"), json!("link~a1b2c3")), (json!({ "doi": "x" }), json!({}))]);
    check_refused(&shape, &[json!(1), json!([])]);
}

#[test]
fn a_type_that_holds_itself_is_followed() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Tree {
        size: u8,
        parts: Vec<Tree>,
    }
    let tree = |size: Value| {
        let leaf = json!({ "size": size, "parts": [] });
        json!({ "size": 1, "parts": [{ "size": 2, "parts": [leaf] }] })
    };
    let descriptor = described::<Tree>();
    assert_eq!(coerce(tree("3".into()), &descriptor), Ok(tree(3.into())));
    let error = coerce(tree("big".into()), &descriptor).unwrap_err().to_string();
    let expected =
        "parts[0].parts[0].size must be a whole number from 0 to 255, not a text of another meaning";
    assert_eq!(error, expected);
}

#[test]
fn every_error_is_named_by_its_path_and_none_quotes_a_value_or_a_key() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Report {
        counts: BTreeMap<String, u8>,
        title: String,
        pages: Vec<Answer>,
        payload: Value,
    }
    let written =
        json!({ "counts": { "hush": "hush" }, "title": 7, "pages": [{ "x": 1 }, { "x": [] }, "hush"] });
    let errors = coerce_all(written, &described::<Report>()).unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = [
        "counts.* must be a whole number from 0 to 255, not a text of another meaning",
        "title must be text, not a number",
        "pages[1].x must be a whole number from -9223372036854775808 to 9223372036854775807, not a list",
        "pages[2] must be an object of the type Answer, not text",
        "payload is missing: it must be any value",
    ];
    assert_eq!(texts, expected);
    let error = coerce(json!([]), &described::<Report>()).unwrap_err().to_string();
    assert_eq!(error, "answer must be an object of the type Report, not a list");
}

#[test]
fn errors_are_collected_up_to_the_limit() {
    let list = described::<Vec<u8>>();
    let of = |n: usize| coerce_all(vec!["x"; n].into(), &list).unwrap_err().len();
    assert_eq!([ERRORS_MAX - 1, ERRORS_MAX, ERRORS_MAX + 1].map(of), [19, 20, 20]);
}
