use super::super::rule::{RedactOptions, RedactionRule};
use super::*;

fn rules(patterns: &[(&str, &str)]) -> RuleSet {
    let rule = |(name, pattern): &(&str, &str)| RedactionRule {
        name: (*name).into(),
        pattern: Some((*pattern).into()),
        ..RedactionRule::default()
    };
    RuleSet::new(&RedactOptions { builtin: false, rules: patterns.iter().map(rule).collect() }).unwrap()
}

fn redacted(patterns: &[(&str, &str)], form: Form, text: &str) -> String {
    let rules = rules(patterns);
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let found = matcher.redacted(text.as_bytes(), MatchContext::at(form), &mut BTreeSet::new()).unwrap();
    found.map_or(text.to_owned(), |found| String::from_utf8(found).unwrap())
}

#[test]
fn what_overlaps_is_one_hit_of_what_begins_first() {
    let patterns = [("a", "b+c"), ("b", "ab+"), ("c", "xyz"), ("d", "zz")];
    assert_eq!(redacted(&patterns, Form::Inside, "-abbc-xyz-"), "-[redacted:b]-[redacted:c]-");
    assert_eq!(redacted(&patterns, Form::Inside, "xyzz abab"), "[redacted:c] [redacted:b][redacted:b]");
}

#[test]
fn a_group_named_secret_is_all_that_is_redacted() {
    let patterns = [("a", "key=(?P<secret>[a-z]+)"), ("b", "(?<secret>q)|r")];
    assert_eq!(redacted(&patterns, Form::Inside, "key=abc q r"), "key=[redacted:a] [redacted:b] [redacted:b]");
}

#[test]
fn strings_are_matched_as_they_are_read_and_bytes_both_ways() {
    let patterns = [("a", "^x\ny$"), ("n", r"\\n")];
    assert_eq!(redacted(&patterns, Form::Inside, r"x\ny"), "[redacted:a]");
    assert_eq!(redacted(&patterns, Form::Inside, r"\u0078\u000ay"), "[redacted:a]");
    assert_eq!(redacted(&patterns, Form::Inside, r"a\ny"), r"a\ny");
    assert_eq!(redacted(&patterns, Form::Bytes, r"a\ny"), "a[redacted:n]y");
    assert_eq!(redacted(&[("a", "é")], Form::Inside, r"\\u00e9 \u00e9 é"), "[redacted:a] [redacted:a] [redacted:a]");
}

#[test]
fn what_was_replaced_is_never_hit_again() {
    for (pattern, expected) in [
        (".+", "[redacted:x]"),
        ("redacted", "secret"),
        (r"\]|s", "[redacted:x]ecret"),
        ("^.", "[redacted:x]ecret"),
        ("[a-z]", &"[redacted:x]".repeat(6)),
    ] {
        let once = redacted(&[("x", pattern)], Form::Inside, "secret");
        assert_eq!((once.as_str(), redacted(&[("x", pattern)], Form::Inside, &once).as_str()), (expected, expected));
    }
    // What only looks like it is.
    assert_eq!(redacted(&[("x", "secret")], Form::Inside, "[redacted:secret]"), "[redacted:[redacted:x]]");
    // Whatever it takes until nothing more is hit.
    assert_eq!(redacted(&[("x", r"a|\]b")], Form::Inside, "abb"), "[redacted:x][redacted:x][redacted:x]");
    let rules = rules(&[("x", r"a|\]b")]);
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let long = format!("a{}", "b".repeat(100));
    let error = matcher.redacted(long.as_bytes(), MatchContext::at(Form::Inside), &mut BTreeSet::new()).unwrap_err();
    assert_eq!(error.code, BundleCode::RedactionConflict);
}

#[test]
fn what_the_literals_pass_over_is_hit_by_nothing() {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    for text in ["", "basics of text", "https://example.com/a task-force Bearer", r"a\/b \u001b[0m \n", "risk-free"] {
        assert!(!matcher.suspects(text.as_bytes()), "{text}");
    }
    for text in [
        r"\u0041KIA",
        r"https:\/\/a:b@c",
        r"a://u\u003ap\u0040h",
        r"1\/\/0",
        r"\nsk-abc",
        "x AKIA",
        "https://a@b",
        "Basic\\tabc",
    ] {
        assert!(matcher.suspects(text.as_bytes()), "{text}");
    }
}
