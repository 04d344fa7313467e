//! Rules for documents: every link leads somewhere. That each problem type is explained is a test
//! of the server, which knows them by an enum.

use std::path::Path;

use crate::files::SourceFile;

/// Checks the documents against the files they speak of.
pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| is_document(&file.path))
        .flat_map(|document| broken_links(document, files))
        .collect()
}

/// A Markdown file at the top or below `docs/`.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
}

fn broken_links(document: &SourceFile, files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (at, line) in prose_lines(&document.text) {
        for target in link_targets(line) {
            if !leads_somewhere(document, target, files) {
                findings.push(format!("{}:{at}: the link to `{target}` leads nowhere", document.path));
            }
        }
    }
    findings
}

/// Numbered lines outside code blocks.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((at + 1, line))
    })
}

/// What stands in the round brackets of `[text](target)`.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

fn leads_somewhere(document: &SourceFile, target: &str, files: &[SourceFile]) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { Some(document.path.clone()) } else { resolved(&document.path, path) };
    let Some(path) = path else { return false };
    if anchor.is_empty() {
        return files.iter().any(|file| file.path == path || file.path.starts_with(&format!("{path}/")));
    }
    files
        .iter()
        .filter(|file| file.path == path)
        .flat_map(|file| prose_lines(&file.text))
        .filter_map(|(_, line)| line.strip_prefix('#'))
        .any(|heading| slug(heading.trim_start_matches('#')) == anchor)
}

/// The path of a link, seen from the folder of its document; `None` outside the repository.
fn resolved(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> =
        Path::new(from).parent()?.to_str()?.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// A heading's anchor as forges make it: lower case, punctuation dropped, spaces to hyphens.
fn slug(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            _ => character.is_alphanumeric().then_some(character),
        })
        .collect()
}
