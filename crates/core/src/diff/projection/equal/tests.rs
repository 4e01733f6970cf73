use super::*;
use crate::diff::projection::tree::ROOT;

fn equal(left: &str, right: &str) -> bool {
    let (left, right) = (Tree::of(left.into()).unwrap(), Tree::of(right.into()).unwrap());
    Pair { left: &left, right: &right, same_reference: &same_place }.are_equal(ROOT, ROOT)
}

#[test]
fn values_compare_as_in_javascript_except_large_integers() {
    for (left, right) in [
        ("{}", " { } "),
        (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#),
        (r#"{"\u0061":"\u00e9\n"}"#, "{\"a\":\"é\\u000a\"}"),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ("1e999", "2e999"),
        ("0", "-0"),
        ("9007199254740992", "9007199254740992.0"),
        ("9007199254740993.0", "9007199254740992"),
        ("100000000000000000000", "1e20"),
        (r#""\ud800""#, r#""\uD800""#),
    ] {
        assert!(equal(left, right) && equal(right, left), "{left} {right}");
    }
    for (left, right) in [
        ("1", "\"1\""),
        ("123456789012345678901", "123456789012345678902"),
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740993", "-9007199254740992"),
        ("-9007199254740993", "9007199254740993"),
        ("9007199254740993", "9007199254740993.0"),
        ("[1762000000000000001]", "[1762000000000000000]"),
        ("null", "false"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,null]"),
        ("{}", "[]"),
        (r#"{"a":null}"#, "{}"),
        (r#"{"a":1,"b":1}"#, r#"{"a":1,"c":1}"#),
        (r#""\ud800""#, r#""\ufffd""#),
        (r#""a""#, r#""b""#),
    ] {
        assert!(!equal(left, right) && !equal(right, left), "{left} {right}");
    }
}

#[test]
fn redaction_marks_are_compared_first() {
    let (mut left, mut right) = (Tree::of("[7,1]".into()).unwrap(), Tree::of("[9,1,2]".into()).unwrap());
    let check =
        |left: &Tree<'_>, right: &Tree<'_>| Pair { left, right, same_reference: &same_place }.are_equal(ROOT, ROOT);
    let refers = |place| Mark::Refers(Some(Reference { place, part: 0 }));
    assert!(!check(&left, &right));
    left.set_mark(1, refers(4));
    assert!(!check(&left, &right));
    right.set_mark(1, refers(4));
    assert!(!check(&left, &right));
    right.set_mark(3, Mark::Dropped);
    assert!(check(&left, &right));
    right.set_mark(1, refers(5));
    assert!(!check(&left, &right));
    let (mut left, mut right) =
        (Tree::of(r#"["b","a","b"]"#.into()).unwrap(), Tree::of(r#"["a","b"]"#.into()).unwrap());
    left.set_mark(ROOT, Mark::Set);
    right.set_mark(ROOT, Mark::Set);
    assert!(check(&left, &right));
}

#[test]
fn nesting_does_not_use_stack() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(300_000), "]".repeat(300_000));
    assert!(equal(&deep("1"), &deep("1.0")));
    assert!(!equal(&deep("1"), &deep("2")));
}
