use proptest::prelude::*;

use super::*;
use crate::bundle::redact::rule::{RedactOptions, RedactionRule};

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
fn overlapping_hits_are_merged() {
    let patterns = [("a", "b+c"), ("b", "ab+"), ("c", "xyz"), ("d", "zz")];
    assert_eq!(redacted(&patterns, Form::JsonString, "-abbc-xyz-"), "-[redacted:b]-[redacted:c]-");
    assert_eq!(redacted(&patterns, Form::JsonString, "xyzz abab"), "[redacted:c] [redacted:b][redacted:b]");
}

#[test]
fn only_the_group_named_secret_is_redacted() {
    let patterns = [("a", "key=(?P<secret>[a-z]+)"), ("b", "(?<secret>q)|r")];
    assert_eq!(redacted(&patterns, Form::JsonString, "key=abc q r"), "key=[redacted:a] [redacted:b] [redacted:b]");
}

#[test]
fn strings_are_matched_decoded_and_bytes_both_ways() {
    let patterns = [("a", "^x\ny$"), ("n", r"\\n")];
    assert_eq!(redacted(&patterns, Form::JsonString, r"x\ny"), "[redacted:a]");
    assert_eq!(redacted(&patterns, Form::JsonString, r"\u0078\u000ay"), "[redacted:a]");
    assert_eq!(redacted(&patterns, Form::JsonString, r"a\ny"), r"a\ny");
    assert_eq!(redacted(&patterns, Form::Bytes, r"a\ny"), "a[redacted:n]y");
    assert_eq!(
        redacted(&[("a", "é")], Form::JsonString, r"\\u00e9 \u00e9 é"),
        "[redacted:a] [redacted:a] [redacted:a]"
    );
}

#[test]
fn placeholders_are_never_matched() {
    for (pattern, expected) in [
        (".+", "[redacted:x]"),
        ("redacted", "secret"),
        (r"\]|s", "[redacted:x]ecret"),
        ("^.", "[redacted:x]ecret"),
        ("[a-z]", &"[redacted:x]".repeat(6)),
    ] {
        let once = redacted(&[("x", pattern)], Form::JsonString, "secret");
        assert_eq!(
            (once.as_str(), redacted(&[("x", pattern)], Form::JsonString, &once).as_str()),
            (expected, expected)
        );
    }
    // This placeholder belongs to no rule.
    assert_eq!(redacted(&[("x", "secret")], Form::JsonString, "[redacted:secret]"), "[redacted:[redacted:x]]");
    // Replacing is repeated until no rule matches.
    assert_eq!(redacted(&[("x", r"a|\]b")], Form::JsonString, "abb"), "[redacted:x][redacted:x][redacted:x]");
    let rules = rules(&[("x", r"a|\]b")]);
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let long = format!("a{}", "b".repeat(100));
    let error =
        matcher.redacted(long.as_bytes(), MatchContext::at(Form::JsonString), &mut BTreeSet::new()).unwrap_err();
    assert_eq!(error.code, BundleCode::RedactionConflict);
}

#[test]
fn only_texts_with_candidates_may_match() {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    for text in ["", "basics of text", "https://example.com/a task-force Bearer", r"a\/b \u001b[0m \n", "risk-free"] {
        assert!(!matcher.may_match(text.as_bytes()), "{text}");
    }
    for text in [
        r"\u0041KIA",
        r"https:\/\/a:b@c",
        r"a://u\u003ap\u0040h",
        r"1\/\/0",
        r"\nsk-abc",
        r"\u001b[1msk-abc",
        "\u{1b}[38;5;1meyJabc",
        r"\\u001b[?25l\\u001b[Kxoxb-1",
        "x AKIA",
        "https://a@b",
        "Basic\\tabc",
    ] {
        assert!(matcher.may_match(text.as_bytes()), "{text}");
    }
}

/// Redacts the inside of a JSON string by the built-in rules.
fn redacted_builtin(inside: &str) -> String {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
    let found = matcher.redacted(inside.as_bytes(), MatchContext::at(Form::JsonString), &mut BTreeSet::new()).unwrap();
    found.map_or(inside.to_owned(), |found| String::from_utf8(found).unwrap())
}

#[test]
fn an_unquoted_value_ends_with_the_string_of_the_json_around_it() {
    let line = "A".repeat(64);
    for (text, hidden, rule) in [
        ("user=a\npassword=hunter2x", "hunter2x", "named-secret"),
        ("x:\n  client-secret: hunter2x", "hunter2x", "named-secret"),
        ("machine a.b login c password hunter2x", "hunter2x", "netrc-password"),
        (".a.b\tTRUE\t/\tTRUE\t1893456000\tsid\thunter2x", "hunter2x", "cookie-file"),
        ("\u{1b}[1mpassword\u{1b}[0m=hunter2x", "hunter2x", "named-secret"),
        ("\u{1b}[1m--token k3x9q2m7p1", "k3x9q2m7p1", "named-secret"),
        (
            &format!("...\n{line}\n-----END PRIVATE KEY-----"),
            &format!("{line}\n-----END PRIVATE KEY-----"),
            "private-key",
        ),
        ("token: none", "", ""),
        ("api_key: ~", "", ""),
    ] {
        for is_deep in [false, true] {
            let document = |text: &str| {
                let inner = serde_json::json!({ "stdout": text, "more": "{\"lines\":1}" }).to_string();
                let inner = if is_deep { serde_json::json!({ "body": inner, "n": 1 }).to_string() } else { inner };
                let inside = serde_json::to_string(&inner).unwrap();
                inside[1..inside.len() - 1].to_owned()
            };
            let expected = match hidden {
                "" => text.to_owned(),
                hidden => text.replace(hidden, &format!("[redacted:{rule}]")),
            };
            assert_eq!(redacted_builtin(&document(text)), document(&expected), "{text}, deep: {is_deep}");
        }
    }
}

#[test]
fn a_value_with_quotes_is_removed_as_a_whole_where_they_end_no_string() {
    for text in ["export DB_PASSWORD=ab\"cd9e", "password=ab\"cd9e\nx=1"] {
        let inside = serde_json::to_string(text).unwrap();
        let redacted = redacted_builtin(&inside[1..inside.len() - 1]);
        assert!(!redacted.contains("cd9e") && redacted.contains("[redacted:named-secret]"), "{redacted}");
    }
}

/// Parts of texts with secrets, and of texts that only look like them.
const PARTS: [&str; 40] = [
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPLE",
    "password=k3x9q2m7p1",
    "DB_PASSWORD: ",
    "\"apiKey\": \"",
    "k3x9q2m7p1",
    "hunter2x",
    "Authorization: Bearer ",
    "--token ",
    "sk-ant-api03-",
    "https://ann:k3x9q2m7@db/",
    "://",
    "key=",
    "api_key=",
    "MTE4MjczOTQ2NTAxMjM0NTY3.GabcdE.abcdefghijABCDEFGHIJ0123456789-_abcdefgh",
    "Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqQUJDREVGR0hJSjAxMjM0NQ",
    "session_id=Aa1Bb2Cc3Dd4",
    "\\u0070assword=",
    "\\u001b[1m",
    "\\b",
    "%70assword%3D",
    "&quot;",
    "\\\"",
    "\\n",
    "\n",
    " ",
    "=",
    ": ",
    ",",
    "'",
    "pass = k3x9q2m7p1",
    "eyJ",
    "xoxb-",
    "login ann password ",
    "curl -u ann:",
    "curl",
    "author",
    "max_tokens=4096",
    "$TOKEN",
    "word",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_prefilter_changes_nothing_that_is_removed(
        parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 1..10),
        is_string: bool,
    ) {
        let text = parts.concat();
        let form = if is_string { Form::JsonString } else { Form::Bytes };
        let rules = RuleSet::new(&RedactOptions::default()).unwrap();
        let redacted = |tries_everything: bool| {
            let mut matcher = Matcher::new(&rules, &BTreeSet::new()).unwrap();
            if tries_everything {
                // As with a rule of the user, which no prefilter knows. It is none of the rules.
                matcher.unfiltered.push(usize::MAX);
            }
            matcher.redacted(text.as_bytes(), MatchContext::at(form), &mut BTreeSet::new())
        };
        let [filtered, all] = [false, true].map(|all| redacted(all).map(|text| text.map(|text| String::from_utf8(text).unwrap())));
        prop_assert_eq!(filtered.unwrap(), all.unwrap());
    }
}
