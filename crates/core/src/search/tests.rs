//! The prefilter never skips, and the matcher finds what a plain loop over characters finds.

use proptest::prelude::*;

use super::fold::equivalents;
use super::*;
use crate::json::decode;

/// A string as JSON, each character in one of its forms.
fn json_string() -> impl Strategy<Value = Vec<u8>> {
    let character = prop_oneof![
        6 => prop::sample::select("aAbBsSkKſ\u{212a}éÉßẞ\u{1e9e}яЯ😀𐐀𐐨/ .\u{fffd}\u{7f}".chars().collect::<Vec<_>>()).prop_map(Ok),
        1 => prop::sample::select(vec![0xd83d_u16, 0xde00, 0xd801, 0xdc00]).prop_map(Err),
        2 => prop::sample::select("\"\\\n\t\u{1}\r".chars().collect::<Vec<_>>()).prop_map(Ok),
    ];
    let piece = prop_oneof![
        9 => (character, any::<bool>(), any::<bool>()).prop_map(|(c, is_numeric, is_upper)| form_of(c, is_numeric, is_upper)),
        1 => prop::sample::select(vec![&b"\xff"[..], b"\xed\xa0\xbd", b"\xc5", b"\\/", b"\\\\u0061"]).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn form_of(c: Result<char, u16>, is_numeric: bool, is_upper: bool) -> Vec<u8> {
    let numeric = |unit: &u16| if is_upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
    match c {
        Err(lone) => numeric(&lone).into_bytes(),
        Ok(c) if is_numeric || (c < ' ' && !"\n\t\r".contains(c)) => {
            c.encode_utf16(&mut [0; 2]).iter().map(numeric).collect::<String>().into_bytes()
        }
        Ok('\n') => b"\\n".to_vec(),
        Ok('\t') => b"\\t".to_vec(),
        Ok('\r') => b"\\r".to_vec(),
        Ok(c @ ('"' | '\\')) => format!("\\{c}").into_bytes(),
        Ok(c) => c.to_string().into_bytes(),
    }
}

/// A query that is likely to be found: part of the text, perhaps in the other case.
fn text_and_query() -> impl Strategy<Value = (Vec<u8>, Vec<u16>)> {
    (json_string(), any::<prop::sample::Index>(), 1_usize..6, any::<bool>()).prop_map(
        |(inside, start, length, swaps)| {
            let units: Vec<u16> = decode(&inside).collect();
            let start = if units.is_empty() { 0 } else { start.index(units.len()) };
            let mut query: Vec<u16> = units[start..].iter().copied().take(length).collect();
            if query.is_empty() {
                query = "sk".encode_utf16().collect();
            }
            if swaps {
                let swapped = char::decode_utf16(query.iter().copied()).flat_map(|c| match c {
                    Ok(c) => equivalents(c).last().copied().unwrap_or(c).encode_utf16(&mut [0; 2]).to_vec(),
                    Err(lone) => vec![lone.unpaired_surrogate()],
                });
                query = swapped.collect();
            }
            (inside, query)
        },
    )
}

fn case_of(is_insensitive: bool) -> Case {
    if is_insensitive { Case::Insensitive } else { Case::Sensitive }
}

/// What `indexOf` finds one after the other, and `/…/iu` if case does not matter.
fn plain_matches(text: &[u16], query: &[u16], is_insensitive: bool) -> Vec<(usize, usize)> {
    let (text, query) = if is_insensitive { (folded(text), folded(query)) } else { (single(text), single(query)) };
    let (mut found, mut at) = (Vec::new(), 0);
    let units = |part: &[(u32, usize)]| part.iter().map(|c| c.1).sum::<usize>();
    while at + query.len() <= text.len() {
        if text[at..at + query.len()].iter().map(|c| c.0).eq(query.iter().map(|c| c.0)) {
            found.push((units(&text[..at]), units(&text[..at + query.len()])));
            at += query.len();
        } else {
            at += 1;
        }
    }
    found
}

fn single(units: &[u16]) -> Vec<(u32, usize)> {
    units.iter().map(|unit| (u32::from(*unit), 1)).collect()
}

/// Each character as the first of those that fold to the same one, with its number of units.
fn folded(units: &[u16]) -> Vec<(u32, usize)> {
    let fold = |c| match c {
        Ok(c) => (equivalents(c)[0] as u32, c.len_utf16()),
        Err(lone) => (u32::from(std::char::DecodeUtf16Error::unpaired_surrogate(&lone)), 1),
    };
    char::decode_utf16(units.iter().copied()).map(fold).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_line_that_matches_is_never_passed_over((inside, query) in text_and_query(), is_insensitive: bool, before in "[a-z\n]{0,100}") {
        let query = Query::new(&query, QueryOptions { is_regex: false, case: case_of(is_insensitive) }).unwrap();
        let text = [before.as_bytes(), b"\n{\"text\":\"", &inside, b"\"}\nnext"].concat();
        let mut candidates = Vec::new();
        query.prefilter.each_candidate(&text, |at, line| {
            candidates.push((at, line.to_vec()));
            true
        });
        let line = (before.len() + 1, text[before.len() + 1..text.len() - 5].to_vec());
        if query.matcher.matches(&inside, 0).is_some() {
            prop_assert!(candidates.contains(&line));
        }
        // Each candidate is a whole line.
        for (at, line) in candidates {
            prop_assert!(at == 0 || text[at - 1] == b'\n');
            prop_assert!(matches!(text.get(at + line.len()), None | Some(b'\n')) && !line.contains(&b'\n'));
        }
    }

    #[test]
    fn a_literal_is_found_as_javascript_finds_it((inside, query) in text_and_query(), is_insensitive: bool, context in 0_usize..20) {
        let text: Vec<u16> = decode(&inside).collect();
        let compiled = Query::new(&query, QueryOptions { is_regex: false, case: case_of(is_insensitive) }).unwrap();
        let expected = plain_matches(&text, &query, is_insensitive);
        let found = compiled.matcher.matches(&inside, context);
        prop_assert_eq!(found.as_ref().map_or(0, |found| found.count), expected.len() as u64);
        let Some(found) = found else { return Ok(()) };
        // The snippet is the text around the first match, and its matches are those of the text.
        let (start, end) = expected[0];
        let from = (0..=start).find(|from| text[*from..].starts_with(&found.snippet)
            && found.ranges[0] == (start - from, end - from)).expect("the snippet is part of the text");
        prop_assert!(start - from <= context + 1 && from + found.snippet.len() <= end + context + 1);
        let until = from + found.snippet.len();
        let within: Vec<_> = expected.iter().filter(|range| range.0 >= from && range.1 <= until).map(|range| (range.0 - from, range.1 - from)).collect();
        prop_assert_eq!(found.ranges, within);
        let splits = |at: usize| at > 0 && at < text.len() && (0xd800..0xdc00).contains(&text[at - 1]) && (0xdc00..0xe000).contains(&text[at]);
        prop_assert!(!splits(from) && !splits(until));
    }
}

#[test]
fn most_lines_are_passed_over() {
    let candidates = |query: &str, is_insensitive, text: &str| {
        let units: Vec<_> = query.encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex: false, case: case_of(is_insensitive) }).unwrap();
        let mut found = 0;
        query.prefilter.each_candidate(text.as_bytes(), |_, _| {
            found += 1;
            true
        });
        found
    };
    let text = "{\"a\":\"\\u001b[0m\\n\\\"x\"}\n".repeat(100);
    for (query, is_insensitive) in
        [("needle", true), ("needle", false), ("kiss", true), ("a/b", false), ("слово", true)]
    {
        assert_eq!(candidates(query, is_insensitive, &text), 0, "{query}");
        assert_eq!(
            candidates(
                query,
                is_insensitive,
                &format!("{text}\"\\u{:04x}\"\n{text}", query.chars().next().unwrap() as u32)
            ),
            1
        );
    }
    assert_eq!(candidates("\u{1b}[0", false, &text), 100);
}

#[test]
fn queries_that_can_not_be_used_are_refused_with_the_place() {
    let refused = |query: &str| {
        let units: Vec<_> = query.encode_utf16().collect();
        Query::new(&units, QueryOptions { is_regex: true, case: Case::Sensitive }).unwrap_err().to_string()
    };
    assert_eq!(refused(""), "it is empty");
    assert_eq!(refused("é😀(a"), "unclosed group, at 3");
    assert_eq!(refused("a{1000}{1000}{1000}"), "its compiled form is too large");
    assert_eq!(refused(r"\p{Nothing}"), "Unicode property not found, at 0");
}

#[test]
fn lone_surrogates_match_themselves_in_expressions() {
    let matches = |query: &[u16], inside: &str| {
        let query = Query::new(query, QueryOptions { is_regex: true, case: Case::Sensitive }).unwrap();
        query.matcher.matches(inside.as_bytes(), 5).map(|found| (found.count, found.snippet, found.ranges))
    };
    let snippet = vec![u16::from(b'a'), 0xd83d, u16::from(b'b')];
    assert_eq!(matches(&[0xd83d], r"a\ud83db"), Some((1, snippet.clone(), vec![(1, 2)])));
    assert_eq!(matches(&[u16::from(b'.'), u16::from(b'b')], r"a\ud83db"), Some((1, snippet, vec![(1, 3)])));
    assert_eq!(matches(&[0xd83d], "a😀b"), None);
}

#[test]
fn case_matters_if_the_query_has_an_uppercase_letter() {
    let is_insensitive = |query: &str, is_regex| {
        let units: Vec<_> = query.encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex, case: Case::Smart }).unwrap();
        query.matcher.matches(b"x WORD Z", 0).is_some()
    };
    assert!(is_insensitive("word", false) && !is_insensitive("Word", false) && !is_insensitive("w\\S", false));
    assert!(is_insensitive("word", true) && !is_insensitive("Word", true) && !is_insensitive("[a-zÉ]ord", true));
    assert!(is_insensitive(r"\Sor\p{Alphabetic}", true) && is_insensitive(r"\x77ord", true));
    assert!(!is_insensitive(r"\x57ORd", true));
}

/// A file with lines that have strings in every form, some of them damaged.
fn session_text() -> impl Strategy<Value = Vec<u8>> {
    let line = (json_string(), 0..8).prop_map(|(inside, form)| {
        let (before, after): (&str, &str) = match form {
            0 => (r#"{"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"type":"text","text":""#, r#""}]}}}"#),
            1 => (r#"{"seq":1,"type":"session_event","payload":{"severity":"info","message":""#, r#""}}"#),
            2 => (r#"{"type":"session_named","payload":{"name":""#, r#""}}"#),
            3 => (
                r#"{"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"type":"tool_call","parameters":[{"1":""#,
                r#""}]}]}}}"#,
            ),
            6 => (
                r#"{"type":"synthetic_insert","payload":{"chronologySeq":1,"afterSeq":0,"content":{"speaker":"ai","blocks":[{"type":"code","code":""#,
                r#""}]}}}"#,
            ),
            7 => (
                r#"{"type":"semantic_media_purge","payload":{"frontier":{"contentIndex":0,"blockIndex":0},"history":[{"speaker":"ai","blocks":[{"type":"thinking","thought":""#,
                r#""}]}]}}"#,
            ),
            4 => (r#"{"type":"rewind","payload":{"itemsRemoved":1,"x":""#, r#""}}"#),
            _ => (r#"{"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"type":"text","text":""#, r#""}"#),
        };
        [before.as_bytes(), &inside, after.as_bytes()].concat()
    });
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.join(&b"\n"[..]))
}

/// The hits in these files: each with the index of its file.
fn hits_in(files: &[std::path::PathBuf], query: &Query) -> Vec<(usize, Hit)> {
    let options = ScanOptions {
        query: query.clone(),
        fields: Field::ALL.iter().fold(0, |bits, field| bits | field.bit()),
        speaker: None,
        tool: None,
        project_hash: None,
        between: None,
        is_current: false,
        context: 10,
        limit: usize::MAX,
    };
    let files = files.iter().map(|path| SearchFile { path: path.clone(), size: 100 << 10 }).collect();
    let mut search = Search::new(files, options);
    let parts = std::iter::from_fn(|| search.next_part());
    parts.flat_map(|part| part.hits.into_iter().map(move |hit| (part.file, hit))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_prefilter_changes_no_hit_in_any_file(texts in prop::collection::vec(session_text(), 1..6), (_, query) in text_and_query(), is_insensitive: bool) {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..texts.len()).map(|index| directory.path().join(index.to_string())).collect();
        for (path, text) in paths.iter().zip(&texts) {
            std::fs::write(path, text).unwrap();
        }
        let query = Query::new(&query, QueryOptions { is_regex: false, case: case_of(is_insensitive) }).unwrap();
        let found = hits_in(&paths, &query);
        prop_assert!(found.is_sorted_by_key(|(file, hit)| (*file, hit.line)));
        prop_assert_eq!(found, hits_in(&paths, &query.without_prefilter()));
    }
}

/// Expressions with and without literals that every match has.
const EXPRESSIONS: [&str; 26] = [
    "aab",
    "(?:aB|ska|\u{212a}bs)",
    "[aA]{3}",
    "^ab.",
    "a+bk$",
    "(?s).*Kss",
    "éé|ßß",
    "я[яЯ]я?",
    "a/b|//",
    "\\\\|\"",
    "[^a]bb",
    "sk[sk]s",
    "\n\n",
    "a?b*",
    r"\w\w\w\w",
    r"[^\w]{3}",
    r"\b[a-z]{2}\b.",
    "(?-u:[sS])k",
    r"[\x00-\x1f]{2}",
    r"\s[^x]\S",
    "[😀𐐀a]s",
    "\u{fffd}+",
    "\u{10f83d}",
    r"(?s)\\.u",
    r"[\p{L}&&[^a]]{2}$",
    r"/|[0-9]{3}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn an_expression_matches_on_no_line_that_is_passed_over(inside in json_string(), at in 0..EXPRESSIONS.len(), is_insensitive: bool) {
        let units: Vec<_> = EXPRESSIONS[at].encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex: true, case: case_of(is_insensitive) }).unwrap();
        let mut is_candidate = false;
        query.prefilter.each_candidate(&inside, |_, _| {
            is_candidate = true;
            true
        });
        prop_assert!(is_candidate || inside.is_empty() || query.matcher.matches(&inside, 0).is_none());
    }

    #[test]
    fn the_prefilter_changes_no_hit_of_an_expression(texts in prop::collection::vec(session_text(), 1..4), at in 0..EXPRESSIONS.len(), is_insensitive: bool) {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..texts.len()).map(|index| directory.path().join(index.to_string())).collect();
        for (path, text) in paths.iter().zip(&texts) {
            std::fs::write(path, text).unwrap();
        }
        let units: Vec<_> = EXPRESSIONS[at].encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex: true, case: case_of(is_insensitive) }).unwrap();
        prop_assert_eq!(hits_in(&paths, &query), hits_in(&paths, &query.without_prefilter()));
    }
}

#[test]
fn lines_without_a_literal_that_each_match_has_are_passed_over() {
    let candidates = |query: &str| {
        let units: Vec<_> = query.encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex: true, case: Case::Smart }).unwrap();
        let mut found = 0;
        query.prefilter.each_candidate(b"some text\nother text\nerror 17\n", |_, _| {
            found += 1;
            true
        });
        found
    };
    assert_eq!(candidates("error [0-9]+"), 1);
    assert_eq!(candidates("(?:warning|error)s?"), 1);
    assert_eq!(candidates("[a-z]+rror"), 1);
    assert_eq!(candidates("[0-9]{2}"), 1);
    assert_eq!(candidates(r"t.*\d"), 0);
    assert_eq!(candidates(r"\w \w"), 3);
    assert_eq!(candidates("[0-9]*"), 3);
}

#[test]
fn what_is_only_in_the_envelope_makes_no_line_a_candidate() {
    let candidates = |text: &str| {
        let units: Vec<_> = "[0-9]{2}:[0-9]{2}".encode_utf16().collect();
        let query = Query::new(&units, QueryOptions { is_regex: true, case: Case::Smart }).unwrap();
        let mut found = Vec::new();
        query.prefilter.each_candidate(text.as_bytes(), |_, line| {
            found.push(String::from_utf8(line.to_vec()).unwrap());
            true
        });
        found
    };
    let start = r#"{"v":1,"seq":7,"ts":"2026-02-11T16:00:00.000Z","type":"session_named","payload":{"name":""#;
    let [without, with] = ["at noon", "at 12:00"].map(|name| format!("{start}{name}\"}}}}"));
    assert_eq!(candidates(&format!("{without}\n{with}\n{without}\n{with}")), [with.clone(), with.clone()]);
    // A line that ends early is not the beginning of the next one.
    assert_eq!(candidates(&format!("{{\"ts\":\"\n{with}\n{{\"ts\":\"12:00\"}}")), [&with, "{\"ts\":\"12:00\"}"]);
    assert_eq!(candidates("{\"ts\":\"\\\",12:00\",\"x\":\"12:00\"}").len(), 1);
}
