use super::*;
use crate::json::ROOT;

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
        ("0", "-0"),
        ("9007199254740992", "9007199254740992.0"),
        ("9007199254740993", "9007199254740993.0"),
        ("9007199254740993E-0", "9007199254740993"),
        ("-90071992547409930e-1", "-9007199254740993"),
        ("123456789012345678e1", "1234567890123456780"),
        ("0.00123456789012345678E+21", "1234567890123456780"),
        ("100000000000000000000", "1e20"),
        ("100000000000000000000000", "1e23"),
        ("9007199254740993.5", "9007199254740993.25"),
        ("1e-999999999999999999999", "0"),
        ("0e999999999999999999999", "0"),
        ("1e999999999999999999999", "10e999999999999999999998"),
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
        ("9007199254740993.0", "9007199254740992"),
        ("9007199254740993e0", "9007199254740992e0"),
        ("99999999999999991611392", "1e23"),
        ("1e999", "2e999"),
        ("-1e999", "1e999"),
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

/// An integer in one of the notations of JSON: a point anywhere in its digits, and zeros behind them.
fn written(digits: &str, point: usize, zeros: usize) -> String {
    let (whole, fraction) = digits.split_at(1 + point % digits.len());
    match (fraction.len(), zeros) {
        (0, 0) => digits.to_owned(),
        (0, _) if point.is_multiple_of(2) => format!("{digits}.{:0<zeros$}", ""),
        (0, _) => format!("{digits}{:0<zeros$}e-{zeros}", ""),
        (exponent, _) => format!("{whole}.{fraction}{:0<zeros$}E+{exponent}", ""),
    }
}

proptest::proptest! {
    #[test]
    fn integers_are_equal_if_they_have_the_same_digits_whatever_their_notation(
        near in proptest::sample::select(vec![0_u128, 1 << 53, 1 << 60, 10_u128.pow(23), 99_999_999_999_999_991_611_392, u128::MAX - 3]),
        (add, other) in (1_u128..4, 1_u128..4),
        notation in (0_usize..40, 0_usize..4),
        other_notation in (0_usize..40, 0_usize..4),
    ) {
        let (left, right) = ((near + add).to_string(), (near + other).to_string());
        let left_json = written(&left, notation.0, notation.1);
        let right_json = written(&right, other_notation.0, other_notation.1);
        proptest::prop_assert_eq!(equal(&left_json, &right_json), left == right, "{} {}", left_json, right_json);
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
