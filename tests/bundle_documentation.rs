//! The documentation of the bundle format names what there is: each code, each limit with its default.

// What can't be read fails the test.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use session_tape::bundle::error::BundleCode;
use session_tape::bundle::limits::{Limits, MAX_MANIFEST_BYTES, MAX_REDACTIONS_BYTES, MAX_SMALL_FILE_BYTES};
use session_tape::bundle::manifest::PAYLOAD_TYPE;

fn section(title: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/bundle-format.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, section) = page.split_once(&format!("\n## {title}\n")).unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_table_of_codes_is_that_of_the_library() {
    let section = section("11. Codes");
    let rows: Vec<_> = section.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let codes: Vec<_> = BundleCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(rows, codes);
}

#[test]
fn the_limits_are_those_of_the_library() {
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
fn what_is_signed_is_named() {
    assert!(section("4. Signatures").contains(PAYLOAD_TYPE));
}
