use syn::parse_quote;

use super::*;

fn refused(input: &DeriveInput) -> Vec<String> {
    expand(input).unwrap_err().into_iter().map(|error| error.to_string()).collect()
}

fn check_refused(input: &DeriveInput, expect: &str) {
    let said = refused(input);
    assert!(said.len() == 1 && said[0].contains(expect), "{said:?}");
}

#[test]
fn an_artifact_without_an_alias_is_told_to_have_one() {
    check_refused(
        &parse_quote!(
            struct X {
                a: u8,
            }
        ),
        "add #[artifact(alias = \"…\")]",
    );
}

#[test]
fn an_alias_that_is_none_is_refused_with_an_example() {
    for alias in ["", "Link", "link cite", "link::cite", ":link", "link:", "link-cite", "lïnk"] {
        let input: DeriveInput = parse_quote!(
            #[artifact(alias = #alias)]
            struct X {
                a: u8,
            }
        );
        check_refused(&input, "such as \"link:cite\"");
    }
}

#[test]
fn the_first_words_with_a_meaning_of_their_own_are_refused() {
    check_refused(
        &parse_quote!(
            #[artifact(alias = "artifact:x")]
            struct X {
                a: u8,
            }
        ),
        "begins every reference",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "list")]
            struct X {
                a: u8,
            }
        ),
        "`ListArtifact`",
    );
    let later: DeriveInput = parse_quote!(
        #[artifact(alias = "x:list:artifact")]
        struct X {
            a: u8,
        }
    );
    assert!(expand(&later).is_ok());
}

#[test]
fn a_second_alias_is_refused() {
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a", alias = "b")]
            struct X {
                a: u8,
            }
        ),
        "has one alias",
    );
}

#[test]
fn unknown_keys_are_refused_with_those_there_are() {
    check_refused(
        &parse_quote!(
            #[artifact(name = "a")]
            struct X {
                a: u8,
            }
        ),
        "told `alias = \"…\"`",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X {
                #[artifact(skip)]
                a: u8,
            }
        ),
        "`ignore`, `summarize` or",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X {
                #[artifact(summarize(length = 3))]
                a: u8,
            }
        ),
        "`threshold = CHARACTERS`",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X {
                #[artifact(summarize(size = "tiny"))]
                a: u8,
            }
        ),
        "\"brief\", \"short\" or \"paragraphs\"",
    );
}

#[test]
fn a_field_is_ignored_or_summarised_and_not_both() {
    let input: DeriveInput = parse_quote!(
        #[artifact(alias = "a")]
        struct X {
            #[artifact(ignore, summarize)]
            a: String,
        }
    );
    check_refused(&input, "remove `summarize` or `ignore`");
}

#[test]
fn the_name_of_the_reference_is_not_free_for_a_field() {
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X {
                #[serde(rename = "artifact_ref")]
                a: String,
            }
        ),
        "rename the field",
    );
}

#[test]
fn only_structs_with_named_fields_are_artifacts() {
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            enum X {
                A,
            }
        ),
        "struct with named fields",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X(String);
        ),
        "struct with named fields",
    );
    check_refused(
        &parse_quote!(
            #[artifact(alias = "a")]
            struct X;
        ),
        "struct with named fields",
    );
}

#[test]
fn every_fault_of_the_fields_is_told_at_once() {
    let input: DeriveInput = parse_quote! {
        #[artifact(alias = "a")]
        struct X { #[artifact(skip)] a: u8, artifact_ref: String, #[artifact(ignore)] c: u8 }
    };
    assert_eq!(refused(&input).len(), 2);
}
