//! From a struct to its implementation.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Field, Fields, Result};

use crate::{
    attributes::{self, FieldMarks, Size, Summarize},
    wire_name::{self, Case},
};

/// The name under which a model reads the reference of an artifact, beside its fields.
const REFERENCE_FIELD: &str = "artifact_ref";

/// The implementation, or what is wrong with the struct: every fault of its fields at once.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let alias = attributes::alias_of(&input.attrs)?.ok_or_else(|| {
        syn::Error::new(input.ident.span(), "an artifact needs an alias: add #[artifact(alias = \"…\")]")
    })?;
    let case = Case::of(&input.attrs)?;
    let mut markers = Vec::new();
    let mut faults: Option<syn::Error> = None;
    for field in named_fields(input)? {
        match field_marker(field, case) {
            Ok(marker) => markers.extend(marker),
            Err(fault) => match &mut faults {
                Some(faults) => faults.combine(fault),
                None => faults = Some(fault),
            },
        }
    }
    if let Some(faults) = faults {
        return Err(faults);
    }
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::colloquy::artifact::Artifact for #name #arguments #bounds {
            const ALIAS: &'static str = #alias;

            fn markers() -> &'static [::colloquy::artifact::Marker] {
                &[#(#markers),*]
            }
        }
    })
}

fn named_fields(input: &DeriveInput) -> Result<impl Iterator<Item = &Field>> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(fields.named.iter()),
            Fields::Unnamed(_) | Fields::Unit => None,
        },
        Data::Enum(_) | Data::Union(_) => None,
    };
    fields.ok_or_else(|| {
        let message =
            "an artifact is a struct with named fields, which are what a model reads; wrap this in one";
        syn::Error::new(input.ident.span(), message)
    })
}

/// The marker of a field, if it is told anything.
fn field_marker(field: &Field, case: Case) -> Result<Option<TokenStream>> {
    let name = wire_name::of(field, case)?;
    if name == REFERENCE_FIELD {
        let message = "a model reads the artifact's own reference under this name; rename the field";
        return Err(syn::Error::new_spanned(&field.ident, message));
    }
    let FieldMarks { is_ignored, summarize } = attributes::field_marks(&field.attrs)?;
    let meaning = match (is_ignored, summarize) {
        (true, _) => quote!(::colloquy::artifact::Meaning::Ignored),
        (false, Some(summarize)) => summarizable(&summarize),
        (false, None) => return Ok(None),
    };
    Ok(Some(quote!(::colloquy::artifact::Marker { field: #name, meaning: #meaning })))
}

fn summarizable(summarize: &Summarize) -> TokenStream {
    let Summarize { size, threshold, hint, is_llm_safe, static_summary } = summarize;
    let size = match size {
        Size::Brief => quote!(Brief),
        Size::Short => quote!(Short),
        Size::Paragraphs => quote!(Paragraphs),
    };
    let (threshold, hint) = (option(threshold.as_ref()), option(hint.as_ref()));
    let static_summary = option(static_summary.as_ref());
    quote! {
        ::colloquy::artifact::Meaning::Summarizable {
            size: ::colloquy::artifact::SummarySize::#size,
            threshold: #threshold,
            hint: #hint,
            llm_safe: #is_llm_safe,
            static_summary: #static_summary,
        }
    }
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

#[cfg(test)]
mod tests;
