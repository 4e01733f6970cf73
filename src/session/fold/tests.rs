use super::*;
use proptest::prelude::*;

fn effect_of(text: &[u8], offset: u64, at_start: bool, through_seq: Option<f64>) -> Effect {
    Fold::new(FoldOptions { project_hash: None, through_seq }).effect(text, offset, at_start)
}

/// A line of a session, or something like one.
fn line() -> impl Strategy<Value = String> {
    let seq = prop_oneof![
        6 => (0i32..12).prop_map(|n| format!("\"seq\":{n},")),
        1 => Just("\"seq\":-1e999,".to_owned()),
        1 => Just("\"seq\":\"3\",".to_owned()),
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
    ];
    prop_oneof![
        12 => (seq, body).prop_map(|(seq, body)| format!("{{\"v\":1,{seq}{body}}}")),
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

/// The offsets at which `text` can be cut: behind its newlines.
fn cuts(text: &[u8]) -> Vec<usize> {
    let behind = text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(behind).chain([text.len()]).collect()
}

proptest! {
    #[test]
    fn the_effect_of_a_whole_is_that_of_its_parts(
        text in text(),
        cut in any::<prop::sample::Index>(),
        at_start in any::<bool>(),
        through_seq in prop::option::of((0i32..12).prop_map(f64::from)),
    ) {
        let cuts = cuts(&text);
        let cut = cuts[cut.index(cuts.len())];
        let first = effect_of(&text[..cut], 100, at_start, through_seq);
        let second = effect_of(&text[cut..], 100 + cut as u64, at_start && cut == 0, through_seq);
        prop_assert_eq!(first.then(second), effect_of(&text, 100, at_start, through_seq));
    }

    #[test]
    fn combining_is_associative(text in text(), one in any::<prop::sample::Index>(), two in any::<prop::sample::Index>()) {
        let cuts = cuts(&text);
        let mut at = [cuts[one.index(cuts.len())], cuts[two.index(cuts.len())]];
        at.sort_unstable();
        let part = |from: usize, to: usize| effect_of(&text[from..to], from as u64, from == 0, None);
        let (a, b, c) = (part(0, at[0]), part(at[0], at[1]), part(at[1], text.len()));
        prop_assert_eq!(a.clone().then(b.clone()).then(c.clone()), a.then(b.then(c)));
    }

    #[test]
    fn bytes_of_any_kind_fold(text in proptest::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        let cuts = cuts(&text);
        let cut = cuts[cut.index(cuts.len())];
        let joined = effect_of(&text[..cut], 0, true, None).then(effect_of(&text[cut..], cut as u64, cut == 0, None));
        prop_assert_eq!(joined, effect_of(&text, 0, true, None));
    }
}

#[test]
fn a_stop_in_the_first_line_of_a_part_stops_the_whole() {
    let text = b"{\"seq\":1}\n{\"seq\":9}\n{\"seq\":2}\n";
    let limit = Some(5.0);
    let whole = effect_of(text, 0, true, limit);
    let parts = effect_of(&text[..10], 0, true, limit).then(effect_of(&text[10..], 10, false, limit));
    assert_eq!(whole, parts);
    assert_eq!((whole.tally.events, whole.stopped, whole.lines), (1, true, 2));
}
