use super::*;
use proptest::prelude::*;

/// How a part is folded.
#[derive(Clone, Copy, Debug)]
struct How {
    through_seq: Option<f64>,
    /// The checkpoint at whose creation the history is requested.
    checkpoint: Option<&'static str>,
    mode: Mode,
}

const LENIENT: How = How { through_seq: None, checkpoint: None, mode: Mode::Lenient };

fn effect_of(text: &[u8], offset: u64, at_start: bool, how: How) -> Effect {
    let How { through_seq, checkpoint, mode } = how;
    let checkpoint_id = checkpoint.map(|id| id.encode_utf16().collect());
    Fold::new(FoldOptions { project_hash: None, through_seq, checkpoint_id, mode, ..FoldOptions::default() })
        .effect(text, offset, at_start)
}

/// A checkpoint that texts create often, one that they delete and never create, or none.
fn checkpoint() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, Some("a"), Some("a"), Some("a"), Some("b"), Some("c")])
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Lenient), Just(Mode::Strict)]
}

const LATER_TYPES: [&str; 17] = [
    r#""type":"session_metadata","payload":{"title":"t"}"#,
    r#""type":"session_metadata","payload":{"title":null}"#,
    r#""type":"session_metadata","payload":{"title":7}"#,
    r#""type":"session_named","payload":{"name":"n"}"#,
    r#""type":"session_named","payload":{"name":null}"#,
    r#""type":"session_named","payload":{}"#,
    r#""type":"session_forked","payload":{"parentSessionId":"p","parentSequence":1,"checkpointId":"a","checkpointName":""}"#,
    r#""type":"session_forked","payload":{"parentSessionId":"q","parentSequence":2,"checkpointId":"a","checkpointName":"x","y":0}"#,
    r#""type":"session_forked","payload":{"checkpointId":"a"}"#,
    r#""ts":"now","type":"checkpoint_created","payload":{"checkpointId":"a","name":"one"}"#,
    r#""ts":1,"type":"checkpoint_created","payload":{"checkpointId":"b","name":"two"}"#,
    r#""type":"checkpoint_created","payload":{"checkpointId":"\u0061","name":"one again"}"#,
    r#""type":"checkpoint_created","payload":{"checkpointId":"a","name":"\t"}"#,
    r#""type":"checkpoint_renamed","payload":{"checkpointId":"a","name":"three"}"#,
    r#""type":"checkpoint_renamed","payload":{"checkpointId":"\u0062","name":" "}"#,
    r#""type":"checkpoint_deleted","payload":{"checkpointId":"\u0062"}"#,
    r#""type":"checkpoint_deleted","payload":{"checkpointId":"c"}"#,
];

/// Events that edit the history, and items with keys.
const EDITS: [&str; 16] = [
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":1}}}}"#,
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":2}}}}"#,
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":3}}}}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1,"cutSeq":1}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1,"cutSeq":9}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1,"cutSeq":"x"}"#,
    r#""type":"density_mutation","payload":{"removedSeqs":[1],"replacements":[]}"#,
    r#""type":"density_mutation","payload":{"removedSeqs":[],"replacements":[{"replacedSeq":2,"replacement":{"speaker":"ai","blocks":[]}}]}"#,
    r#""type":"density_mutation","payload":{"removedSeqs":[-1],"replacements":[]}"#,
    r#""type":"synthetic_insert","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":1}}},"chronologySeq":1,"afterSeq":2}"#,
    r#""type":"synthetic_insert","payload":{"content":{"speaker":"ai","blocks":[]},"chronologySeq":1,"afterSeq":3}"#,
    r#""type":"chronology_bind","payload":{"rowIndex":0,"chronology":{"seq":3,"userTurn":1,"step":2,"recordedAt":3}}"#,
    r#""type":"chronology_bind","payload":{"rowIndex":4,"chronology":{"seq":2,"userTurn":1,"step":2,"recordedAt":3},"content":{"speaker":"ai","blocks":[]}}"#,
    r#""type":"semantic_media_purge","payload":{"history":[],"frontier":{"contentIndex":0,"blockIndex":0}}"#,
    r#""type":"semantic_media_purge","payload":{"history":[{"speaker":"ai","blocks":[0],"metadata":{"chronology":{"seq":2}}}],"frontier":{"contentIndex":0,"blockIndex":0}}"#,
    r#""type":"compression_detail","payload":{"fromSeq":1,"toSeq":2,"itemsCompressed":1}"#,
];

/// A line of a session, or something like one.
fn line() -> impl Strategy<Value = String> {
    let seq = prop_oneof![
        6 => (0i32..12).prop_map(|n| format!("\"seq\":{n},")),
        1 => Just("\"seq\":-1e999,".to_owned()),
        1 => Just("\"seq\":\"3\",".to_owned()),
        1 => prop::sample::select(vec!["-0", "1.5", "1e1", "9007199254740992", "9007199254740991", "null"])
            .prop_map(|seq| format!("\"seq\":{seq},")),
        2 => Just(String::new()),
    ];
    let body = prop_oneof![
        8 => Just(r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}"#),
        2 => Just(r#""type":"compressed","payload":{"summary":{"speaker":"ai"},"itemsCompressed":1}"#),
        3 => Just(r#""type":"rewind","payload":{"itemsRemoved":2}"#),
        1 => Just(r#""type":"rewind","payload":{"itemsRemoved":-2}"#),
        2 => Just(r#""type":"provider_switch","payload":{"provider":"p","model":""}"#),
        2 => Just(r#""type":"provider_switch","payload":{"provider":"q","model":"m"}"#),
        2 => Just(r#""type":"session_event","payload":{"severity":"info","message":"x"}"#),
        1 => Just(r#""type":"directories_changed","payload":{"directories":["/a"]}"#),
        2 => Just(r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h"}"#),
        1 => Just(r#""type":"session_start","payload":{}"#),
        1 => Just(r#""type":["new"],"payload":{}"#),
        2 => Just(r#""type":"content","payload":{"content":{"speaker":"user","blocks":[]}}"#),
        12 => prop::sample::select(LATER_TYPES.to_vec()),
        16 => prop::sample::select(EDITS.to_vec()),
    ];
    prop_oneof![
        24 => (seq, body.clone()).prop_map(|(seq, body)| format!("{{\"v\":1,{seq}{body}}}")),
        1 => (prop::sample::select(vec!["2", "3", "\"1\""]), body).prop_map(|(v, body)| format!("{{\"v\":{v},\"seq\":3,{body}}}")),
        2 => Just("{\"v\":1,\"seq\":".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just(" \t".to_owned()),
        1 => Just(String::new()),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let lines =
        prop_oneof![9 => proptest::collection::vec(line(), 0..30), 1 => proptest::collection::vec(line(), 150..250)];
    (lines, any::<bool>()).prop_map(|(lines, ended)| {
        let mut text = lines.join("\n").into_bytes();
        if ended {
            text.push(b'\n');
        }
        text
    })
}

/// The offsets at which `text` can be cut: after its newlines.
fn cuts(text: &[u8]) -> Vec<usize> {
    let behind = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(behind).chain([text.len()]).collect()
}

proptest! {
    #[test]
    fn effects_of_parts_combine_to_the_effect_of_the_whole(
        text in text(),
        cut in any::<prop::sample::Index>(),
        at_start in any::<bool>(),
        through_seq in prop::option::of((0i32..12).prop_map(f64::from)),
        checkpoint in checkpoint(),
        mode in mode(),
    ) {
        let how = How { through_seq, checkpoint, mode };
        let cuts = cuts(&text);
        let cut = cuts[cut.index(cuts.len())];
        let first = effect_of(&text[..cut], 100, at_start, how);
        let second = effect_of(&text[cut..], 100 + cut as u64, at_start && cut == 0, how);
        prop_assert_eq!(first.then(second), effect_of(&text, 100, at_start, how));
    }

    #[test]
    fn effects_combine_associatively(
        text in text(),
        one in any::<prop::sample::Index>(),
        two in any::<prop::sample::Index>(),
        checkpoint in checkpoint(),
        mode in mode(),
    ) {
        let cuts = cuts(&text);
        let mut at = [cuts[one.index(cuts.len())], cuts[two.index(cuts.len())]];
        at.sort_unstable();
        let part = |from: usize, to: usize| effect_of(&text[from..to], from as u64, from == 0, How { checkpoint, mode, ..LENIENT });
        let (a, b, c) = (part(0, at[0]), part(at[0], at[1]), part(at[1], text.len()));
        prop_assert_eq!(a.clone().then(b.clone()).then(c.clone()), a.then(b.then(c)));
    }

    #[test]
    fn the_history_at_a_checkpoint_is_that_of_the_lines_up_to_its_creation(
        text in text(),
        cut in any::<prop::sample::Index>(),
        mode in mode(),
    ) {
        let how = How { checkpoint: Some("a"), mode, ..LENIENT };
        let cuts = cuts(&text);
        let cut = cuts[cut.index(cuts.len())];
        let whole = effect_of(&text[..cut], 0, true, how).then(effect_of(&text[cut..], cut as u64, cut == 0, how));
        let up_to_creation = cuts.into_iter().map(|cut| effect_of(&text[..cut], 0, true, how));
        let first = up_to_creation.map(|effect| (effect.checkpoint_events, effect.history)).find(|(events, _)| {
            events.last().is_some_and(|event| matches!(event.change, CheckpointChange::Created(_)) && is_string(&event.id, &[97]))
        });
        match first {
            Some((events, history)) => {
                let seq = events.last().map_or(0.0, |event| event.seq);
                prop_assert_eq!(whole.history_at_checkpoint(seq), Some(&history).filter(|history| !history.has_edits()));
                prop_assert_eq!(whole.history_at_checkpoint(seq + 1.0), None);
            }
            None => prop_assert_eq!(whole.at_checkpoint, None),
        }
    }

    #[test]
    fn edits_that_are_resolved_part_by_part_are_as_those_of_the_whole(
        text in text(),
        one in any::<prop::sample::Index>(),
        two in any::<prop::sample::Index>(),
        mode in mode(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        std::fs::write(&path, &text).unwrap();
        let source = LineSource::open(&path).unwrap();
        let cuts = cuts(&text);
        let mut at = [cuts[one.index(cuts.len())], cuts[two.index(cuts.len())]];
        at.sort_unstable();
        let (mut parts, mut editor) = (Effect::default(), Editor::default());
        for (from, to) in [(0, at[0]), (at[0], at[1]), (at[1], text.len())] {
            let part = effect_of(&text[from..to], from as u64, from == 0, How { mode, ..LENIENT });
            let kept = part.history.kept_of(parts.history.items().len());
            parts = parts.then(part);
            if parts.history.has_edits() {
                parts.resolve_edits(&mut editor, kept, &source).unwrap();
            } else {
                editor.truncate(kept);
            }
        }
        let mut whole = effect_of(&text, 0, true, How { mode, ..LENIENT });
        whole.resolve_edits(&mut Editor::default(), 0, &source).unwrap();
        let texts = |effect: &Effect| {
            let history = &effect.history;
            let text_of = |item: &ItemRef| {
                let mut json = Vec::new();
                item.append_to(&mut json, &history.markers, &source).unwrap();
                String::from_utf8(json).unwrap()
            };
            (history.items().iter().map(text_of).collect::<Vec<_>>(), effect.tally, effect.warnings.clone(), effect.purge_frontier.clone())
        };
        prop_assert_eq!(texts(&parts), texts(&whole));
    }

    #[test]
    fn arbitrary_bytes_fold_without_panic(text in proptest::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        let cuts = cuts(&text);
        let cut = cuts[cut.index(cuts.len())];
        let joined = effect_of(&text[..cut], 0, true, LENIENT).then(effect_of(&text[cut..], cut as u64, cut == 0, LENIENT));
        prop_assert_eq!(joined, effect_of(&text, 0, true, LENIENT));
    }
}

#[test]
fn stop_in_a_part_stops_the_whole() {
    let text = b"{\"seq\":1}\n{\"seq\":9}\n{\"seq\":2}\n";
    let limit = How { through_seq: Some(5.0), ..LENIENT };
    let whole = effect_of(text, 0, true, limit);
    let parts = effect_of(&text[..10], 0, true, limit).then(effect_of(&text[10..], 10, false, limit));
    assert_eq!(whole, parts);
    assert_eq!((whole.tally.events, whole.stopped, whole.lines), (1, true, 2));
}

#[test]
fn unordered_seq_is_detected_beyond_the_warning_limit() {
    let text = format!("{}{{\"seq\":2}}\n{{\"seq\":2}}\n", "{\n".repeat(200));
    let effect = effect_of(text.as_bytes(), 0, false, LENIENT);
    assert!(effect.is_out_of_sequence);
    let ascending = effect_of(b"{\"seq\":2}\n{\"seq\":3}\n", 0, false, LENIENT);
    assert!(!ascending.is_out_of_sequence);
}

#[test]
fn strict_limit_considers_only_valid_numbers() {
    let text = b"{\"v\":1,\"seq\":1}\n{\"v\":1,\"seq\":9007199254740992}\n{\"v\":1,\"seq\":2}\n{\"v\":1,\"seq\":6}\n";
    let lines = |mode| effect_of(text, 0, false, How { through_seq: Some(5.0), mode, ..LENIENT }).lines;
    assert_eq!((lines(Mode::Lenient), lines(Mode::Strict)), (2, 4));
}

#[test]
fn the_largest_seq_is_the_largest_of_all_parts() {
    let part = |text: &[u8], offset| effect_of(text, offset, false, How { mode: Mode::Strict, ..LENIENT });
    let whole = part(b"{\"v\":1,\"seq\":7}\n", 0)
        .then(part(b"{\"v\":1,\"seq\":2}\n", 16))
        .then(part(b"{\"v\":1,\"seq\":3}\n", 32));
    assert_eq!((whole.largest_seq, whole.last_seq, whole.is_out_of_sequence), (Some(7.0), Some(3.0), true));
}
