//! Every behaviour that the project is held to is proved by a test that names it, or answered in
//! `docs/decisions.md` with what is done instead.
//!
//! The numbers stand in `docs/behaviours.txt`, by section; where the specification lies beside the
//! checkout, the list is compared with it, so that neither can grow alone.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, Result};

use crate::files::{self, SourceFile};

/// Sections whose issues are built: an unproved number in another one is not wrong yet.
const BUILT: &str = "ABCDEFGHIJKLMNOPTUV";
const LIST: &str = "docs/behaviours.txt";
const SPECIFICATION: &str = "../shared/spec/behaviours.md";
const DECISIONS: &str = "docs/decisions.md";
const MARK: &str = "// behaviours:";

/// Numbers by section.
type Sections = Vec<(char, BTreeSet<u32>)>;

/// Checks that no number of a built section is without a test or an answer.
pub(super) fn check(files: &[SourceFile]) -> Result<Vec<String>> {
    let list = files.iter().find(|file| file.path == LIST).context("docs/behaviours.txt is missing")?;
    let sections = listed(&list.text);
    let mut findings = Vec::new();
    if let Ok(specification) = fs::read_to_string(files::root().join(SPECIFICATION))
        && numbered(&specification) != sections
    {
        findings.push(format!("{LIST}:1: the numbers are not those of the specification"));
    }
    let known: BTreeSet<u32> = sections.iter().flat_map(|(_, numbers)| numbers).copied().collect();
    let named = named(files, &known, &mut findings);
    let missing = sections
        .iter()
        .filter(|(section, _)| BUILT.contains(*section))
        .flat_map(|(section, numbers)| numbers.iter().map(move |number| (section, number)))
        .filter(|(_, number)| !named.contains(number))
        .map(|(section, number)| {
            format!(
                "{LIST}:1: behaviour {number} (section {section}) has no test and no answer in {DECISIONS}"
            )
        });
    findings.extend(missing);
    Ok(findings)
}

/// Every number that a test or a decision names; one that does not exist is a finding.
fn named(files: &[SourceFile], known: &BTreeSet<u32>, findings: &mut Vec<String>) -> BTreeSet<u32> {
    let mut named = BTreeSet::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            let numbers = if file.path.ends_with(".rs") {
                line.trim_start().strip_prefix(MARK).map(numbers_in)
            } else if file.path == DECISIONS {
                answered(line)
            } else {
                None
            };
            for number in numbers.into_iter().flatten() {
                if !known.contains(&number) {
                    findings.push(format!("{}:{}: there is no behaviour {number}", file.path, at + 1));
                }
                named.insert(number);
            }
        }
    }
    named
}

/// The numbers of a heading such as `## Behaviours 60 and 61: …`.
fn answered(line: &str) -> Option<Vec<u32>> {
    let (heading, _) = line.strip_prefix("## Behaviour")?.split_once(':')?;
    Some(numbers_in(heading))
}

fn numbers_in(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

/// The list's own form: `A: 1 3 4`.
fn listed(text: &str) -> Sections {
    let line = |line: &str| {
        let (section, numbers) = line.split_once(": ")?;
        let mut letters = section.chars();
        let section = letters.next().filter(|section| section.is_ascii_uppercase())?;
        letters.next().is_none().then(|| (section, numbers_in(numbers).into_iter().collect()))
    };
    text.lines().filter_map(line).collect()
}

/// The specification's form: headings `## A. …`, then lines `1. [spec] …`.
fn numbered(text: &str) -> Sections {
    let mut sections = Sections::new();
    for line in text.lines() {
        if let Some((section, _)) = line.strip_prefix("## ").and_then(|heading| heading.split_once(". ")) {
            sections.extend(section.chars().next().map(|section| (section, BTreeSet::new())));
        } else if let Some((number, _)) = line.split_once(". [")
            && let (Ok(number), Some((_, numbers))) = (number.parse(), sections.last_mut())
        {
            numbers.insert(number);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    fn findings(test: &str, decisions: &str) -> Vec<String> {
        let list = "# numbers\nA: 1 2 3\nZ: 9\n";
        let (known, mut findings) = (BTreeSet::from([1, 2, 3, 9]), Vec::new());
        let files = [file("x.rs", test), file(DECISIONS, decisions), file(LIST, list)];
        let named = named(&files, &known, &mut findings);
        let wanted = &listed(list)[0].1;
        findings.extend(wanted.difference(&named).map(|number| number.to_string()));
        findings
    }

    #[test]
    fn a_number_is_named_by_a_test_or_answered_by_a_decision() {
        let test = "    // behaviours: 1, 2\n    #[test]\n    fn x() {}\n";
        assert_eq!(findings(test, "## Behaviour 3: better\n"), Vec::<String>::new());
        assert_eq!(findings(test, "Behaviour 3: not a heading\n"), ["3"]);
        assert_eq!(
            findings("// behaviours: 4\n", "## Behaviours 1 and 2: x\n"),
            ["x.rs:1: there is no behaviour 4", "3"]
        );
    }

    #[test]
    fn both_forms_of_the_list_read_alike() {
        let specification = "# B\n\n## A. One\n\n1. [spec] x.\n2. [beyond] 3. [spec] in a line.\n\n## B. Two\n\n5. [spec] y.\n";
        assert_eq!(numbered(specification), listed("A: 1 2\nB: 5\n"));
    }
}
