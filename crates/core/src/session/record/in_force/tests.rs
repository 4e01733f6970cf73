use super::*;
use crate::diff::history_keys;
use crate::session::read::{RecordOptions, RecordReader};
use proptest::prelude::*;

fn item(text: &str, marker: Option<(u64, u64)>) -> String {
    let metadata = marker.map_or(String::new(), |(key, turn)| {
        format!(r#","metadata":{{"chronology":{{"seq":{key},"userTurn":{turn},"step":0,"recordedAt":0}}}}"#)
    });
    format!(r#"{{"speaker":"ai","blocks":[{{"type":"text","text":"{text}"}}]{metadata}}}"#)
}

fn hash(item: &str) -> ItemHash {
    ItemHash::of(item.as_bytes())
}

#[test]
fn a_hash_takes_24_bytes_and_survives_its_text() {
    assert_eq!(size_of::<ItemHash>(), ITEM_HASH_BYTES);
    let hashes = [hash(&item("a", None)), hash(&item("b", Some((7, 1))))];
    assert_eq!(ItemHash::of_text(&ItemHash::to_text(hashes)), hashes);
    assert_eq!(ItemHash::to_text(hashes).len(), 2 * ITEM_HASH_CHARACTERS);
}

#[test]
fn different_items_have_different_hashes() {
    let items = [
        item("a", None),
        item("b", None),
        item("a", Some((1, 1))),
        item("a", Some((1, 2))),
        item("a", Some((2, 1))),
        r#"{"speaker":"ai","blocks":[{"type":"text","text":"a"}],"metadata":{}}"#.to_owned(),
        r#"{"speaker":"ai","blocks":[{"type":"text","text":"a"}],"metadata":{"chronology":{}}}"#.to_owned(),
        r#"{"speaker":"ai","blocks":[{"type":"text","text":"a"}],"metadata":null}"#.to_owned(),
    ];
    for (at, one) in items.iter().enumerate() {
        assert!(items[..at].iter().all(|other| hash(other) != hash(one)), "{one}");
    }
}

#[test]
fn a_replacement_hashes_like_its_text_with_the_old_marker() {
    for (replacement, expected) in
        [(item("new", None), item("new", Some((7, 1)))), (item("new", Some((9, 9))), item("new", Some((7, 1))))]
    {
        assert_eq!(hash(&replacement).in_place_of(&hash(&item("old", Some((7, 1))))), hash(&expected));
    }
}

#[test]
fn line_separators_hash_like_their_escapes() {
    assert_eq!(hash(&item("\u{2028}", None)), hash(&item("\\u2028", None)));
}

/// A line without its number and time, which do not matter.
fn line(event_type: &str, payload: &str) -> String {
    let version = if event_type == "semantic_media_purge" { 2 } else { 1 };
    format!("{{\"v\":{version},\"seq\":1,\"ts\":\"\",\"type\":\"{event_type}\",\"payload\":{payload}}}\n")
}

fn lines_of(tail: &Tail, wanted: &[String]) -> String {
    let mut lines = String::new();
    if tail.removed > 0 {
        let cut = tail.cut.map_or(String::new(), |key| format!(",\"cutSeq\":{key}"));
        lines += &line("rewind", &format!("{{\"itemsRemoved\":{}{cut}}}", tail.removed));
    }
    if !tail.replaced.is_empty() {
        let entry =
            |(index, key): &(usize, u64)| format!("{{\"replacedSeq\":{key},\"replacement\":{}}}", wanted[*index]);
        let entries: Vec<_> = tail.replaced.iter().map(entry).collect();
        lines += &line("density_mutation", &format!("{{\"removedSeqs\":[],\"replacements\":[{}]}}", entries.join(",")));
    }
    for item in &wanted[tail.appended_from..] {
        lines += &line("content", &format!("{{\"content\":{item}}}"));
    }
    lines
}

fn items(history: &InForce) -> Vec<ItemHash> {
    history.items().collect()
}

fn any_item() -> impl Strategy<Value = String> {
    ("[a-c]{1,2}", prop::option::of((0u64..5, 0u64..2))).prop_map(|(text, marker)| item(&text, marker))
}

fn any_event() -> impl Strategy<Value = String> {
    let keys = || proptest::collection::vec(0u64..5, 0..3);
    prop_oneof![
        8 => any_item().prop_map(|item| line("content", &format!("{{\"content\":{item}}}"))),
        1 => any_item().prop_map(|item| line("compressed", &format!("{{\"summary\":{item},\"itemsCompressed\":1}}"))),
        1 => (0u64..4, prop::option::of(0u64..5)).prop_map(|(count, cut)| {
            let cut = cut.map_or(String::new(), |key| format!(",\"cutSeq\":{key}"));
            line("rewind", &format!("{{\"itemsRemoved\":{count}{cut}}}"))
        }),
        2 => (keys(), proptest::collection::vec((0u64..5, any_item()), 0..3)).prop_map(|(removed, replaced)| {
            let entries: Vec<_> = replaced.iter().map(|(key, item)| format!("{{\"replacedSeq\":{key},\"replacement\":{item}}}")).collect();
            line("density_mutation", &format!("{{\"removedSeqs\":{removed:?},\"replacements\":[{}]}}", entries.join(",")))
        }),
        2 => (0u64..5, any_item()).prop_map(|(after, item)| {
            line("synthetic_insert", &format!("{{\"content\":{item},\"chronologySeq\":1,\"afterSeq\":{after}}}"))
        }),
        2 => (0u64..8, 0u64..5, prop::option::of(any_item())).prop_map(|(index, key, content)| {
            let content = content.map_or(String::new(), |item| format!(",\"content\":{item}"));
            let marker = format!("{{\"seq\":{key},\"userTurn\":1,\"step\":0,\"recordedAt\":0}}");
            line("chronology_bind", &format!("{{\"rowIndex\":{index},\"chronology\":{marker}{content}}}"))
        }),
        1 => proptest::collection::vec(any_item(), 1..4).prop_map(|items| {
            let history = items.join(",");
            line("semantic_media_purge", &format!("{{\"history\":[{history}],\"frontier\":{{\"contentIndex\":0,\"blockIndex\":0}}}}"))
        }),
        1 => Just(line("content", "{\"content\":{\"speaker\":\"nobody\",\"blocks\":[]}}")),
        1 => Just("torn\n".to_owned()),
    ]
}

/// A session with these lines behind its `session_start`.
fn file_with(lines: &str) -> tempfile::NamedTempFile {
    let start = line(
        "session_start",
        r#"{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}"#,
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), start + lines).unwrap();
    file
}

fn replayed(lines: &str) -> InForce {
    InForce::of_file(file_with(lines).path()).unwrap().0
}

/// The items of a replay: the offset and the hash of each.
fn replayed_items(path: &Path, mode: Mode) -> Vec<(u64, ItemHash)> {
    let replay = Replay::open(path, FoldOptions { mode, ..FoldOptions::default() }).and_then(Replay::complete).unwrap();
    let hash = |item: &ItemRef| {
        let mut text = Vec::new();
        item.append_to(&mut text, replay.markers(), replay.source()).unwrap();
        (item.offset, ItemHash::of(&text))
    };
    replay.items().iter().map(hash).collect()
}

/// The offset of the line of each item that the changes of lines leave, and the offsets of the lines with an item in the history.
fn items_of_lines(path: &Path, mode: Mode) -> (Vec<u64>, Vec<u64>) {
    let options = RecordOptions { mode, history: true, changes: true, ..RecordOptions::default() };
    let mut reader = RecordReader::open(path, options).unwrap();
    let (mut items, mut remaining) = (Vec::new(), Vec::new());
    while reader
        .read(&mut |line| {
            for change in line.changes {
                let end = items.len() - change.behind as usize;
                items.splice(end - change.removed as usize..end, vec![line.offset; change.added as usize]);
            }
            remaining.extend(line.in_history.filter(|holds| *holds).map(|_| line.offset));
            true
        })
        .unwrap()
    {}
    (items, remaining)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_read_along_is_what_a_replay_gives(events in proptest::collection::vec(any_event(), 0..40)) {
        let mut along = InForce::default();
        events.iter().for_each(|event| along.add_lines(event.as_bytes()));
        prop_assert_eq!(items(&along), items(&replayed(&events.concat())));
    }

    #[test]
    fn everything_that_keeps_a_history_has_the_items_of_the_replay(events in proptest::collection::vec(any_event(), 0..40)) {
        let (text, mut along) = (events.concat(), InForce::default());
        along.add_lines(text.as_bytes());
        let file = file_with(&text);
        let strict = replayed_items(file.path(), Mode::Strict);
        prop_assert_eq!(items(&along), strict.iter().map(|item| item.1).collect::<Vec<_>>());
        for mode in [Mode::Strict, Mode::Lenient] {
            let expected = replayed_items(file.path(), mode);
            let (lines, remaining) = items_of_lines(file.path(), mode);
            let line_of = |item: &u64| remaining.iter().rev().find(|line| *line <= item).copied();
            let expected_lines: Vec<_> = expected.iter().map(|item| line_of(&item.0)).collect();
            prop_assert_eq!(lines.into_iter().map(Some).collect::<Vec<_>>(), expected_lines.clone());
            prop_assert!(remaining.into_iter().all(|line| expected_lines.contains(&Some(line))));
        }
        let keys: Vec<_> = replayed_items(file.path(), Mode::Lenient).iter().map(|item| item.1.key()).collect();
        prop_assert_eq!(history_keys(file.path()), keys);
    }

    #[test]
    fn the_tail_makes_a_replay_give_the_wanted_history(
        events in proptest::collection::vec(any_event(), 0..30),
        wanted in proptest::collection::vec(any_item(), 0..12),
    ) {
        let mut before = replayed(&events.concat());
        let hashes: Vec<_> = wanted.iter().map(|item| hash(item)).collect();
        let tail = before.tail_to(&hashes);
        prop_assert_eq!(items(&replayed(&(events.concat() + &lines_of(&tail, &wanted)))), hashes);
    }

    #[test]
    fn the_tail_to_a_similar_history_leads_to_it_and_then_is_empty(
        own in proptest::collection::vec(any_item(), 0..12),
        changed in proptest::collection::vec((0usize..12, "[a-c]{1,2}"), 0..3),
    ) {
        let mut near = own.clone();
        for (at, text) in changed {
            if let Some(item) = near.get_mut(at) {
                *item = item.replacen("\"text\":\"", &format!("\"text\":\"{text}"), 1);
            }
        }
        let hashes: Vec<_> = near.iter().map(|item| hash(item)).collect();
        let mut history = InForce::of_items(own.iter().map(|item| hash(item)));
        let tail = history.tail_to(&hashes);
        history.add_lines(lines_of(&tail, &near).as_bytes());
        prop_assert_eq!(&items(&history), &hashes);
        prop_assert_eq!(history.tail_to(&hashes), Tail { appended_from: hashes.len(), ..Tail::default() });
    }
}

#[test]
fn a_change_of_an_item_with_a_key_is_a_replacement_in_place() {
    let old: Vec<_> = (0..5).map(|at| item("old", Some((at, 0)))).collect();
    let mut before = InForce::of_items(old.iter().map(|item| hash(item)));
    let mut wanted = items(&before);
    wanted[1] = hash(&item("new", Some((1, 0))));
    assert_eq!(before.tail_to(&wanted), Tail { replaced: vec![(1, 1)], appended_from: 5, ..Tail::default() });
    wanted.truncate(3);
    assert_eq!(before.tail_to(&wanted), Tail { removed: 2, cut: Some(3), replaced: vec![(1, 1)], appended_from: 3 });
    // Another marker can't be set by a replacement.
    wanted[1] = hash(&item("new", Some((8, 0))));
    assert_eq!(before.tail_to(&wanted), Tail { removed: 4, cut: Some(1), replaced: Vec::new(), appended_from: 1 });
}

#[test]
fn a_rewind_names_a_key_only_if_replay_would_cut_there() {
    let own = [item("a", Some((1, 0))), item("b", None), item("c", Some((1, 0)))];
    let mut before = InForce::of_items(own.iter().map(|item| hash(item)));
    let all = items(&before);
    let wanted = |kept: usize| all[..kept].to_vec();
    assert_eq!(before.tail_to(&wanted(2)), Tail { removed: 1, cut: None, appended_from: 2, ..Tail::default() });
    assert_eq!(before.tail_to(&wanted(1)), Tail { removed: 2, cut: None, appended_from: 1, ..Tail::default() });
    assert_eq!(before.tail_to(&wanted(0)), Tail { removed: 3, cut: Some(1), appended_from: 0, ..Tail::default() });
}
