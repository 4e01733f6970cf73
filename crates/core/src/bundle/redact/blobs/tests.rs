use super::*;
use crate::bundle::redact::rule::{RedactOptions, RedactionRule, RuleSet};

fn redacted(patterns: &[(&str, &str)], bytes: &[u8]) -> Result<Vec<u8>, BundleCode> {
    let rule = |(name, matcher): &(&str, &str)| {
        let (pattern, path) = match matcher.starts_with('/') {
            true => (None, Some((*matcher).to_owned())),
            false => (Some((*matcher).to_owned()), None),
        };
        RedactionRule { name: (*name).into(), pattern, path, ..RedactionRule::default() }
    };
    let options = RedactOptions { builtin: true, rules: patterns.iter().map(rule).collect() };
    let rules = RuleSet::new(&options).unwrap();
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let (mut out, mut matched_rules, mut read) = (Vec::new(), BTreeSet::new(), 0);
    let mut tick = |bytes| {
        read += bytes;
        Ok(())
    };
    let size = bytes.len() as u64;
    let hit = redact(&mut matcher, &mut &bytes[..], size, None, &mut matched_rules, &mut out, &mut tick);
    assert_eq!(hit.map_err(|error| error.code)?, out != bytes);
    assert_eq!(out != bytes, !matched_rules.is_empty());
    assert_eq!(read, size);
    Ok(out)
}

const KEY: &[u8] = b"AKIAIOSFODNN7EXAMPLE";
const HIDDEN: &[u8] = b"[redacted:aws-access-key-id]";

#[test]
fn a_secret_is_found_at_every_boundary_of_windows() {
    let mut places = vec![0, 100];
    for edge in [WINDOW_BYTES - OVERLAP_BYTES, WINDOW_BYTES, 2 * WINDOW_BYTES - 2 * OVERLAP_BYTES] {
        places.extend([edge - 30, edge - 21, edge - 20, edge - 10, edge - 1, edge, edge + 1].map(|at| at - 256));
    }
    places.extend([edge_of_end(), 12_000_000]);
    places.sort_unstable();
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    for place in places {
        let gap = place.saturating_sub(bytes.len()).max(1);
        for text in [&mut bytes, &mut expected] {
            text.resize(text.len() + gap, b'.');
        }
        bytes.extend_from_slice(KEY);
        expected.extend_from_slice(HIDDEN);
    }
    assert!(bytes.len() > WINDOW_BYTES);
    assert!(redacted(&[], &bytes).unwrap() == expected);
    for shift in [1, 7, 19] {
        let (mut shifted, mut hidden) = (vec![b' '; shift], vec![b' '; shift]);
        shifted.extend_from_slice(&bytes);
        hidden.extend_from_slice(&expected);
        assert!(redacted(&[], &shifted).unwrap() == hidden);
    }
}

fn edge_of_end() -> usize {
    15_000_000
}

#[test]
fn a_match_that_is_longer_than_the_overlap_is_an_error() {
    let bytes =
        [vec![b'.'; WINDOW_BYTES - OVERLAP_BYTES - 10], vec![b'x'; 2 * OVERLAP_BYTES], vec![b'.'; 100]].concat();
    assert_eq!(redacted(&[("x", "x+")], &bytes), Err(BundleCode::RedactionConflict));
    let small = &bytes[bytes.len() - WINDOW_BYTES..];
    assert!(
        redacted(&[("x", "x+")], small).unwrap().ends_with(b".[redacted:x]....".get(..13).unwrap())
            || small.len() == WINDOW_BYTES
    );
    let long = [vec![b'.'; WINDOW_BYTES], vec![b'x'; OVERLAP_BYTES - 10], vec![b'.'; WINDOW_BYTES]].concat();
    let found = redacted(&[("x", "x+")], &long).unwrap();
    assert_eq!(found.len(), 2 * WINDOW_BYTES + "[redacted:x]".len());
}

#[test]
fn pointers_apply_to_json_up_to_a_maximum_size() {
    let json = |size: usize| [b"{\"a\":\"".to_vec(), vec![b'z'; size], b"\",\"pin\":\"4711\"}".to_vec()].concat();
    let found = redacted(&[("pin", "/pin")], &json(WINDOW_BYTES)).unwrap();
    assert!(found.ends_with(b"\",\"pin\":\"[redacted:pin]\"}"));
    assert_eq!(redacted(&[("pin", "/pin")], &json(MAX_JSON_BYTES)), Err(BundleCode::RedactionConflict));
}

#[test]
fn binary_content_is_redacted() {
    let bytes = [b"\xff\xfe\0".to_vec(), KEY.to_vec(), b"\0\\u0041KIAIOSFODNN7EXAMPLE\0\xff".to_vec()].concat();
    let expected =
        [b"\xff\xfe\0".to_vec(), HIDDEN.to_vec(), b"\0".to_vec(), HIDDEN.to_vec(), b"\0\xff".to_vec()].concat();
    assert_eq!(redacted(&[], &bytes).unwrap(), expected);
}
