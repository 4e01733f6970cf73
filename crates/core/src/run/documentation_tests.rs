//! The documentation of the run format is complete: it names each kind, each error code, each counter and each status.

use std::collections::BTreeSet;
use std::path::Path;

use super::format::{ErrorCode, FieldType, Kind, PayloadField};
use super::state::{CallStatus, Counter, NodeStatus, RunStatus};

fn page() -> String {
    std::fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/run-format.md"))
        .unwrap()
}

/// The names at the beginning of the table rows in the section with this title.
fn names_in_tables<'p>(page: &'p str, title: &str) -> BTreeSet<&'p str> {
    let (_, section) = page.split_once(title).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn every_kind_has_its_payload_and_its_transition() {
    let (page, kinds) = (page(), Kind::ALL.map(Kind::as_str));
    assert_eq!(names_in_tables(&page, "\n## 4. Kinds\n"), BTreeSet::from(kinds));
    let transitions = names_in_tables(&page, "\n## 5. Transitions\n");
    let (_, section) = page.split_once("\n## 5. Transitions\n").unwrap();
    for kind in kinds {
        assert!(transitions.contains(kind) || section.contains(&format!("`, `{kind}` |")), "{kind}");
    }
}

fn as_documented(fields: &[PayloadField], mark: &str) -> String {
    let one = |field: &PayloadField| {
        let optional = if field.is_optional { "?" } else { "" };
        format!("{mark}{}{optional}{mark}: {}", field.name, type_as_documented(field.of))
    };
    fields.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn type_as_documented(of: FieldType) -> String {
    match of {
        FieldType::Id | FieldType::Call => "id".into(),
        FieldType::Text => "text".into(),
        FieldType::Flag => "flag".into(),
        FieldType::Time => "time".into(),
        FieldType::Times => "array of times".into(),
        FieldType::Amount => "amount".into(),
        FieldType::Number => "number".into(),
        FieldType::Ids => "ids".into(),
        FieldType::IdsByNode => "object of ids by node".into(),
        FieldType::Scheduler => "`round-robin`, `least-loaded` or `external`".into(),
        FieldType::Object(fields) => format!("`{{{}}}`", as_documented(fields, "")),
        FieldType::Objects(fields) => format!("array of `{{{}}}`", as_documented(fields, "")),
    }
}

#[test]
fn the_fields_of_payloads_are_those_of_the_table() {
    let page = page();
    for kind in Kind::ALL {
        let row = format!("| `{kind}` | {} | ", as_documented(kind.fields(), "`"));
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn every_error_code_is_listed() {
    let page = page();
    let (_, section) = page.split_once("\n## 13. Reading, verifying, errors\n").unwrap();
    for code in ErrorCode::ALL {
        assert!(section.contains(&format!("`{code}`")), "{code}");
    }
}

#[test]
fn every_name_of_the_state_is_documented() {
    let page = page();
    let (_, section) = page.split_once("\n## 9. State and state hash\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let nodes = NodeStatus::ALL.iter().map(|one| one.as_str());
    let runs = RunStatus::ALL.iter().map(|one| one.as_str());
    let calls = CallStatus::ALL.iter().map(|one| one.as_str());
    let counters = Counter::ALL.iter().map(|one| one.as_str());
    for name in nodes.chain(runs).chain(calls).chain(counters) {
        assert!(section.contains(name), "{name}");
    }
}
