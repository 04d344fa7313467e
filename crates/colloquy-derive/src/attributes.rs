//! The `#[artifact(…)]` attributes, read.

use syn::{Attribute, LitInt, LitStr, Result, meta::ParseNestedMeta, token::Paren};

use crate::alias;

const ON_STRUCT: &str = "on the struct an artifact is told `alias = \"…\"`, nothing else";
const ON_FIELD: &str = "a field is told `ignore`, `summarize` or `summarize(…)`";
const IN_SUMMARIZE: &str = "`summarize` takes `size = \"…\"`, `threshold = CHARACTERS`, `hint = \"…\"`, \
                            `llm_safe` and `static_summary = \"…\"`";

/// What a field is told.
#[derive(Default)]
pub(crate) struct FieldMarks {
    pub(crate) is_ignored: bool,
    pub(crate) summarize: Option<Summarize>,
}

/// How a field is summarised.
#[derive(Default)]
pub(crate) struct Summarize {
    pub(crate) size: Size,
    pub(crate) threshold: Option<usize>,
    pub(crate) hint: Option<String>,
    pub(crate) is_llm_safe: bool,
    pub(crate) static_summary: Option<String>,
}

/// The size of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Size {
    Brief,
    #[default]
    Short,
    Paragraphs,
}

/// The alias that the struct's attributes give; `None` without one.
pub(crate) fn alias_of(attributes: &[Attribute]) -> Result<Option<LitStr>> {
    let mut found: Option<LitStr> = None;
    read(attributes, |meta| {
        if !meta.path.is_ident("alias") {
            return Err(meta.error(ON_STRUCT));
        }
        if found.is_some() {
            return Err(meta.error("an artifact has one alias; remove the others"));
        }
        let given: LitStr = meta.value()?.parse()?;
        alias::check(&given)?;
        found = Some(given);
        Ok(())
    })?;
    Ok(found)
}

/// What the attributes of a field say.
pub(crate) fn field_marks(attributes: &[Attribute]) -> Result<FieldMarks> {
    let mut marks = FieldMarks::default();
    read(attributes, |meta| {
        if meta.path.is_ident("ignore") {
            marks.is_ignored = true;
        } else if meta.path.is_ident("summarize") {
            marks.summarize = Some(summarize(meta)?);
        } else {
            return Err(meta.error(ON_FIELD));
        }
        if marks.is_ignored && marks.summarize.is_some() {
            return Err(meta.error("a model does not read an ignored field; remove `summarize` or `ignore`"));
        }
        Ok(())
    })?;
    Ok(marks)
}

fn read(attributes: &[Attribute], mut each: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("artifact"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(|meta| each(&meta)))
}

fn summarize(meta: &ParseNestedMeta<'_>) -> Result<Summarize> {
    let mut summarize = Summarize::default();
    if !meta.input.peek(Paren) {
        return Ok(summarize);
    }
    meta.parse_nested_meta(|key| {
        if key.path.is_ident("size") {
            summarize.size = size(&key.value()?.parse()?)?;
        } else if key.path.is_ident("threshold") {
            summarize.threshold = Some(key.value()?.parse::<LitInt>()?.base10_parse()?);
        } else if key.path.is_ident("hint") {
            summarize.hint = Some(key.value()?.parse::<LitStr>()?.value());
        } else if key.path.is_ident("llm_safe") {
            summarize.is_llm_safe = true;
        } else if key.path.is_ident("static_summary") {
            summarize.static_summary = Some(key.value()?.parse::<LitStr>()?.value());
        } else {
            return Err(key.error(IN_SUMMARIZE));
        }
        Ok(())
    })?;
    Ok(summarize)
}

fn size(name: &LitStr) -> Result<Size> {
    match name.value().as_str() {
        "brief" => Ok(Size::Brief),
        "short" => Ok(Size::Short),
        "paragraphs" => Ok(Size::Paragraphs),
        _ => Err(syn::Error::new(name.span(), "a size is \"brief\", \"short\" or \"paragraphs\"")),
    }
}
