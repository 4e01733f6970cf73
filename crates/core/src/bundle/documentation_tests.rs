//! The documentation of the bundle format is complete: it names each code, and each limit with its default.

use std::path::Path;

use super::format::{BundleCode, Limits, MAX_MANIFEST_BYTES, MAX_REDACTIONS_BYTES, MAX_SMALL_FILE_BYTES, PAYLOAD_TYPE};
use super::redact::{builtin, named, references};
use crate::run::{FieldType, Kind, PayloadField};

fn section(title: &str) -> String {
    section_of("docs/bundle-format.md", title)
}

fn section_of(page: &str, title: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    let page = std::fs::read_to_string(path).unwrap();
    let (_, section) = page.split_once(&format!("\n## {title}\n")).unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

/// The names that begin the entries of a section's lists.
fn names_in(section: &str) -> Vec<&str> {
    section.lines().filter_map(|row| row.strip_prefix("- `")?.split('`').next()).collect()
}

#[test]
fn documented_redaction_rules_are_those_of_the_library() {
    let section = section_of("docs/redaction.md", "Built-in rules");
    let rules: Vec<_> = builtin::all().map(|rule| rule.name).chain([named::NAME, references::NAME]).collect();
    assert_eq!(names_in(&section), rules);
}

/// The paths of the fields that redaction must not change.
fn fixed_paths(fields: &[PayloadField], outer: &str) -> Vec<String> {
    let paths = |field: &PayloadField| match field.of {
        _ if field.is_fixed => vec![format!("{outer}{}", field.name)],
        FieldType::Object(inner) => fixed_paths(inner, &format!("{outer}{}.", field.name)),
        FieldType::Objects(inner) => fixed_paths(inner, &format!("{outer}{}[].", field.name)),
        _ => Vec::new(),
    };
    fields.iter().flat_map(paths).collect()
}

#[test]
fn documented_unredacted_fields_are_those_of_the_library() {
    let section = section_of("docs/redaction.md", "What can't be redacted");
    for kind in Kind::ALL {
        let name = format!("`{}`", kind.as_str());
        let row = section.lines().find(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&name)));
        let must_stay = row.unwrap_or_else(|| panic!("{name}")).split('|').nth(3).unwrap();
        for field in fixed_paths(kind.fields(), "") {
            assert!(must_stay.contains(&format!("`{field}`")), "{name}: {field}");
        }
    }
}

#[test]
fn documented_codes_are_those_of_the_library() {
    let section = section("11. Codes");
    let list = section.trim_end().rsplit("\n\n").next().unwrap();
    let codes: Vec<_> = BundleCode::ALL.iter().map(|code| format!("`{code}`", code = code.as_str())).collect();
    assert_eq!(list, codes.join(", ") + ".");
}

#[test]
fn documented_limits_are_those_of_the_library() {
    let section = section("9. Verifying");
    let limits = Limits::default();
    let rows = [
        ("`lineBytes`", limits.line_bytes, "| 16 MiB", 16 << 20),
        ("`blobBytes`", limits.blob_bytes, "| 256 MiB |", 256 << 20),
        ("`files`", limits.files, "| 100 000 |", 100_000),
        ("`expansion`", limits.expansion, "| 200 |", 200),
        ("`totalBytes`", limits.total_bytes, "| 64 GiB |", 64 << 30),
        ("`redactions.json`", MAX_REDACTIONS_BYTES.min(MAX_MANIFEST_BYTES), "| 64 MiB each |", 64 << 20),
        ("`manifest.sig`", MAX_SMALL_FILE_BYTES, "| 1 MiB each |", 1 << 20),
    ];
    for (name, found, shown, expected) in rows {
        assert_eq!(found, expected, "{name}");
        assert!(section.lines().any(|row| row.contains(name) && row.contains(shown)), "{name}");
    }
}

#[test]
fn signed_payload_type_is_documented() {
    assert!(section("4. Signatures").contains(PAYLOAD_TYPE));
}
