//! The name of a field on the wire, as serde's attributes make it. Only `rename` and `rename_all`
//! are read; what else serde is told is none of this macro's business.

use syn::{
    Attribute, Expr, Field, LitStr, Result, Token, meta::ParseNestedMeta, parenthesized, token::Paren,
};

/// Serde's case styles, applied to a field in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// As written; also serde's `lowercase`.
    Snake,
    /// `FIRST_NAME`, also serde's `UPPERCASE`.
    ScreamingSnake,
    /// `firstName`
    Camel,
    /// `FirstName`
    Pascal,
    /// `first-name`
    Kebab,
    /// `FIRST-NAME`
    ScreamingKebab,
}

impl Case {
    /// The style that the struct's attributes ask for.
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Self> {
        let Some(name) = serde_name(attributes, "rename_all")? else { return Ok(Self::Snake) };
        Ok(match name.value().as_str() {
            "lowercase" | "snake_case" => Self::Snake,
            "UPPERCASE" | "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "camelCase" => Self::Camel,
            "PascalCase" => Self::Pascal,
            "kebab-case" => Self::Kebab,
            "SCREAMING-KEBAB-CASE" => Self::ScreamingKebab,
            _ => return Err(syn::Error::new(name.span(), "serde knows no such case style")),
        })
    }

    fn apply(self, name: &str) -> String {
        let capitalized = || name.split('_').map(capitalize).collect::<String>();
        match self {
            Self::Snake => name.to_owned(),
            Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Camel => {
                let pascal = capitalized();
                let first = pascal.chars().next().map_or(0, char::len_utf8);
                pascal[..first].to_ascii_lowercase() + &pascal[first..]
            }
            Self::Pascal => capitalized(),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// The name of a field of a struct with that style.
pub(crate) fn of(field: &Field, case: Case) -> Result<String> {
    if let Some(name) = serde_name(&field.attrs, "rename")? {
        return Ok(name.value());
    }
    let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    Ok(case.apply(name.strip_prefix("r#").unwrap_or(&name)))
}

fn capitalize(word: &str) -> String {
    let first = word.chars().next().map_or(0, char::len_utf8);
    word[..first].to_ascii_uppercase() + &word[first..]
}

/// What serde's attribute of that name says of writing: `name = "x"` or `name(serialize = "x")`.
fn serde_name(attributes: &[Attribute], wanted: &str) -> Result<Option<LitStr>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident(wanted) {
                return skip(&meta);
            }
            if meta.input.peek(Token![=]) {
                found = Some(meta.value()?.parse()?);
                return Ok(());
            }
            meta.parse_nested_meta(|side| {
                let name = side.value()?.parse()?;
                if side.path.is_ident("serialize") {
                    found = Some(name);
                }
                Ok(())
            })
        })?;
    }
    Ok(found)
}

/// Reads over whatever stands behind a key.
fn skip(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<Expr>()?;
    } else if meta.input.peek(Paren) {
        let inside;
        parenthesized!(inside in meta.input);
        inside.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
