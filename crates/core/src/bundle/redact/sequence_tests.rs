//! What a terminal does not show changes nothing about what is found: every family of rules, with every sequence at every place.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::matcher::{Form, Hit, MatchContext, Matcher};
use super::named::tests::{INNOCENT, SECRETS};
use super::stream_prefilter::StreamPrefilter;
use super::{RedactOptions, RuleSet};

/// Texts with a secret; a sequence is tried at each `‸`.
const FAMILIES: &[&str] = &[
    // Named values, and lines of environments and Dockerfiles.
    "‸DB_PASS‸WORD‸=‸k3x9‸q2m7p1‸ ls",
    "‸export‸ ‸DB_PASS‸WORD‸=‸\"‸k3x9‸q2m7p1‸\"‸",
    "a: 1\n‸  ‸pass‸word‸:‸ ‸k3x9‸q2m7p1‸\nb: 2",
    "const ‸api‸Key‸ ‸=‸ ‸'‸k3x9‸q2m7p1‸'‸;",
    "{‸\"‸pass‸word‸\"‸:‸ ‸\"‸swor‸dfish‸\"‸}",
    "‸ENV‸ ‸SMTP_‸PASS‸ ‸Zx81‸qqq9‸\nRUN x",
    "‸ENV‸ ‸SMTP_‸PASS‸=‸Zx81‸qqq9‸\nRUN x",
    "‸ARG‸ ‸NPM_‸TOKEN‸=‸Zx81‸qqq9‸\n",
    "x.‸set‸Pass‸word‸(‸\"‸tpLfr01C‸7UqTzqk2‸\"‸);",
    "<‸pass‸word‸>‸opens‸esame‸</‸pass‸word>",
    // Flags.
    "tool ‸--‸to‸ken‸ ‸k3x9‸q2m7p1‸ -v",
    "tool ‸--‸api-‸key‸=‸k3x9‸q2m7p1‸ -v",
    "‸curl‸ -‸u‸ ann‸:‸k3x9‸q2m7p1‸ x",
    "‸mysql‸ ‸-p‸k3x9‸q2m7p1‸ db",
    // Headers and addresses.
    "‸X-Api-‸Key‸:‸ ‸k3x9‸q2m7p1‸",
    "‸Author‸ization‸:‸ ‸Bea‸rer‸ ‸k3x9‸q2m7p1‸",
    "‸Set-Coo‸kie‸:‸ ‸sid‸=‸k3x9‸q2m7p1‸",
    "clone ‸htt‸ps:‸//‸ann‸:‸k3x9‸q2m7‸@‸db.example/x",
    "machine a.b ‸log‸in‸ c ‸pass‸word‸ ‸hun‸ter2x‸",
    // Tokens.
    "a ‸gh‸p_‸0123456789‸abcdefghijABCDEFGHIJ012345‸ b",
    "a ‸s‸k-‸ant-api03-‸0123456789abcdefghij‸ b",
    "a ‸ey‸J‸hbGciOiJIUzI1NiJ9‸.‸eyJzdWIiOiIxMjM0NTY3ODkwIn0‸.‸dozjgNryP4J3jVmNHl0w‸ b",
    "a ‸xo‸xb-‸123456789012-‸abcdefABCDEF‸ b",
    "a ‸AK‸IA‸IOSFODNN7‸EXAMPLE‸ b",
    "a ‸gl‸pat-‸0123456789‸abcdefghij‸ b",
    // Keys.
    "‸-----‸BEGIN ‸PRIV‸ATE KEY‸-----‸\n‸AAAAAAAAAAAAAAAAAAAA‸BBBBBBBBBBBBBBBBBBBBBBBBBBBB‸\n-----‸END ‸PRIVATE ‸KEY-----‸\n",
];

/// A name and its value in two lines. What is struck over is not found at the beginning of the second one.
const TWO_LINES: &str = "env:\n  - ‸name‸:‸ ‸HOOK_‸SECRET‸\n‸    ‸value‸:‸ ‸d0dc‸c835x‸\n";

/// Sequences that a terminal does not show, and characters without width.
const SEQUENCES: &[&str] = &[
    // Colours, deletion of lines, modes.
    "\u{1b}[m",
    "\u{1b}[1m",
    "\u{1b}[38;5;196m",
    "\u{1b}[38:2::1:2:3m",
    "\u{1b}[01;31m\u{1b}[K",
    "\u{1b}[m\u{1b}[K",
    "\u{1b}[2K",
    "\u{1b}[?25l",
    "\u{1b}[>4;1m",
    "\u{1b}[!p",
    "\u{1b}[0 q",
    // Two and three bytes.
    "\u{1b}(B",
    "\u{1b})0",
    "\u{1b}(B\u{1b}[m",
    "\u{1b}M",
    "\u{1b}7",
    "\u{1b}8",
    "\u{1b}=",
    "\u{1b}>",
    "\u{1b}c",
    "\u{1b}#8",
    "\u{1b}%G",
    "\u{1b} F",
    // Strings: titles, links, queries.
    "\u{1b}]0;title: a b\u{7}",
    "\u{1b}]2;title\u{1b}\\",
    "\u{1b}]8;;https://x.example/a?b=1\u{1b}\\",
    "\u{1b}]8;;\u{1b}\\",
    "\u{1b}]8;id=1;https://x.example/a\u{7}",
    "\u{1b}]133;A\u{7}",
    "\u{1b}P1$r0m\u{1b}\\",
    "\u{1b}_Gi=1\u{1b}\\",
    "\u{1b}^note\u{1b}\\",
    "\u{1b}Xnote\u{1b}\\",
    // The same, with a character in place of ESC and the letter.
    "\u{9b}1m",
    "\u{9b}01;31m\u{9b}K",
    "\u{9d}0;title\u{9c}",
    "\u{9d}8;;https://x.example/a\u{7}",
    "\u{90}1$r0m\u{9c}",
    "\u{8d}",
    // Characters without width.
    "\u{200b}",
    "\u{200e}",
    "\u{202a}",
    "\u{2060}",
    "\u{2062}",
    "\u{feff}",
    "\u{fe0f}",
    "\u{ad}",
    "\u{34f}",
];

/// What is struck over, which is searched too.
const STRUCK: &[&str] = &["x\u{8}", "xy\u{8}\u{8}", "xyz\u{8} \u{8}\u{8} \u{8}\u{8} \u{8}"];

struct Case {
    /// The text with the sequences.
    text: String,
    /// The hits of the text without them, where they are in the text with them.
    hits: Vec<Hit>,
}

struct Tried<'r> {
    matcher: Matcher<'r>,
    rules: &'r RuleSet,
}

impl<'r> Tried<'r> {
    fn new(rules: &'r RuleSet) -> Self {
        Tried { matcher: Matcher::new(rules, &BTreeSet::new()).unwrap(), rules }
    }

    fn hits(&mut self, text: &str, form: Form) -> Vec<Hit> {
        self.matcher.hits(text.as_bytes(), MatchContext::at(form), &mut BTreeSet::new()).unwrap()
    }

    /// `plain` with a sequence at each of some places, ascending.
    fn case(&mut self, plain: &str, inserted: &[(usize, &str)]) -> Case {
        let mut text = String::new();
        let mut at = 0;
        for (place, sequence) in inserted {
            text += &plain[at..*place];
            text += sequence;
            at = *place;
        }
        text += &plain[at..];
        let length = |test: &dyn Fn(usize) -> bool| -> usize {
            inserted.iter().filter(|(place, _)| test(*place)).map(|(_, sequence)| sequence.len()).sum()
        };
        let moved = |hit: Hit| Hit {
            start: hit.start + length(&|place| place <= hit.start),
            end: hit.end + length(&|place| place < hit.end),
            ..hit
        };
        let hits = self.hits(plain, Form::Bytes).into_iter().map(moved).collect();
        Case { text, hits }
    }

    /// What is passed over in a text, alone and in strings of JSON. What is around a secret may be replaced with it.
    fn faults(&mut self, case: &Case) -> Vec<String> {
        let mut faults = Vec::new();
        let mut text = case.text.clone();
        let mut expected: Vec<_> = case.hits.iter().map(|hit| (hit.start, hit.end)).collect();
        for depth in 0..3 {
            let found = self.hits(&text, if depth == 0 { Form::Bytes } else { Form::JsonString });
            for (start, end) in &expected {
                if !found.iter().any(|found| found.start <= *start && found.end >= *end) {
                    faults.push(format!("depth {depth}: {:?} in {text:?}", &text[*start..*end]));
                }
            }
            let mut stream = StreamPrefilter::new(self.rules.prefilter().unwrap());
            stream.update(text.as_bytes());
            if depth > 0 && !expected.is_empty() && stream.finish().is_some_and(|places| places.is_empty()) {
                faults.push(format!("depth {depth}, passed over: {text}"));
            }
            let encoded = |at: usize| in_json(&text[..at]).len();
            expected = expected.iter().map(|(start, end)| (encoded(*start), encoded(*end))).collect();
            text = in_json(&text);
        }
        faults
    }
}

/// A text in a string of JSON, as a program may write it that escapes what is not shown.
fn in_json(text: &str) -> String {
    let is_shown = |c: char| {
        !c.is_control() && !matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{206f}' | '\u{fe0f}' | '\u{feff}')
    };
    let written = |c: char| if is_shown(c) { c.to_string() } else { format!("\\u{:04x}", c as u32) };
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].chars().map(written).collect()
}

fn marked(family: &str) -> (String, Vec<usize>) {
    let mut plain = String::new();
    let mut places = Vec::new();
    for (number, part) in family.split('‸').enumerate() {
        places.extend((number > 0).then_some(plain.len()));
        plain += part;
    }
    (plain, places)
}

fn assert_no_faults(faults: &[String]) {
    let shown: Vec<_> = faults.iter().take(40).collect();
    assert!(faults.is_empty(), "{} faults: {shown:#?}", faults.len());
}

#[test]
fn every_secret_is_found_with_any_sequence_at_any_place() {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let (mut tried, mut faults) = (Tried::new(&rules), Vec::new());
    for (plain, places) in FAMILIES.iter().chain([&TWO_LINES]).map(|family| marked(family)) {
        assert_eq!(tried.hits(&plain, Form::Bytes).len(), 1, "{plain}");
        for (place, sequence) in places.iter().flat_map(|place| SEQUENCES.iter().map(move |it| (*place, *it))) {
            let case = tried.case(&plain, &[(place, sequence)]);
            faults.extend(tried.faults(&case));
        }
        let everywhere = |sequence: &'static str| places.iter().map(|place| (*place, sequence)).collect::<Vec<_>>();
        for sequence in SEQUENCES {
            let case = tried.case(&plain, &everywhere(sequence));
            faults.extend(tried.faults(&case));
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn every_secret_is_found_with_characters_struck_over_at_any_place() {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let (mut tried, mut faults) = (Tried::new(&rules), Vec::new());
    for (plain, places) in FAMILIES.iter().map(|family| marked(family)) {
        for (place, struck) in places.iter().flat_map(|place| STRUCK.iter().map(move |it| (*place, *it))) {
            let case = tried.case(&plain, &[(place, struck)]);
            let found = tried.hits(&case.text, Form::Bytes);
            let is_covered = |hit: &Hit| found.iter().any(|found| found.start <= hit.start && found.end >= hit.end);
            faults.extend((!case.hits.iter().all(is_covered)).then(|| format!("{:?}: {found:?}", case.text)));
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn a_carriage_return_begins_a_line() {
    let rules = RuleSet::new(&RedactOptions::default()).unwrap();
    let mut tried = Tried::new(&rules);
    for text in [
        "50 %‸password: swordfish9",
        "50 %‸password: swordfish‸ok",
        "x‸export A_TOKEN=abc1def2‸100 %",
        "x‸X-Api-Key: swordfish‸x",
    ] {
        let [feed, carriage] = ["\n", "\r"].map(|line| tried.hits(&text.replace('‸', line), Form::Bytes));
        assert_eq!((carriage.len(), &carriage), (1, &feed), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn sequences_change_nothing_about_what_is_found(
        text in prop::sample::select([SECRETS, INNOCENT].concat()),
        inserted in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(SEQUENCES)), 1..5),
    ) {
        let rules = RuleSet::new(&RedactOptions::default()).unwrap();
        let mut tried = Tried::new(&rules);
        let plain = text.replace(['«', '»'], "");
        let mut inserted: Vec<_> = inserted.iter().map(|(at, sequence)| (at.index(plain.len() + 1), *sequence)).collect();
        // An escape is one character.
        inserted.retain(|(at, _)| plain.is_char_boundary(*at) && !plain[..*at].ends_with('\\'));
        inserted.sort_unstable_by_key(|(at, _)| *at);
        let case = tried.case(&plain, &inserted);
        let faults = tried.faults(&case);
        prop_assert!(faults.is_empty(), "{faults:#?}");
    }
}
