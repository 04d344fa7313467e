use syn::{DeriveInput, parse_quote};

use super::*;

fn names(input: &DeriveInput) -> Vec<String> {
    let syn::Data::Struct(data) = &input.data else { panic!("a struct") };
    let case = Case::of(&input.attrs).unwrap();
    data.fields.iter().map(|field| of(field, case).unwrap()).collect()
}

#[test]
fn every_case_style_of_serde_is_applied() {
    let check = |style: &str, expect: &str| {
        let input: DeriveInput = parse_quote!(
            #[serde(rename_all = #style)]
            struct X {
                first_name: String,
            }
        );
        assert_eq!(names(&input), [expect], "{style}");
    };
    check("lowercase", "first_name");
    check("snake_case", "first_name");
    check("UPPERCASE", "FIRST_NAME");
    check("SCREAMING_SNAKE_CASE", "FIRST_NAME");
    check("camelCase", "firstName");
    check("PascalCase", "FirstName");
    check("kebab-case", "first-name");
    check("SCREAMING-KEBAB-CASE", "FIRST-NAME");
}

#[test]
fn a_name_that_is_given_wins_over_the_style_and_other_attributes_are_read_over() {
    let input: DeriveInput = parse_quote! {
        #[serde(deny_unknown_fields, rename_all(serialize = "camelCase", deserialize = "snake_case"))]
        struct X {
            #[serde(default = "zero", rename = "count")]
            n_items: u32,
            #[serde(rename(deserialize = "old", serialize = "new"), skip_serializing_if = "Option::is_none")]
            renamed: Option<u32>,
            r#type: String,
            some_text: String,
        }
    };
    assert_eq!(names(&input), ["count", "new", "type", "someText"]);
}

#[test]
fn a_style_that_serde_does_not_know_is_refused() {
    let field: DeriveInput = parse_quote!(
        #[serde(rename_all = "Title Case")]
        struct X {
            a: u8,
        }
    );
    assert_eq!(Case::of(&field.attrs).unwrap_err().to_string(), "serde knows no such case style");
}
