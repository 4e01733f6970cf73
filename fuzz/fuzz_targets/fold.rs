//! Any bytes as a file, split after any line: the effect of the whole is that of its parts combined.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::session::fold::{Fold, FoldOptions};
use session_tape_core::session::format::Mode;

const SEQS: [&str; 16] = [
    "\"seq\":0,",
    "\"seq\":1,",
    "\"seq\":2,",
    "\"seq\":3,",
    "\"seq\":4,",
    "\"seq\":5,",
    "\"seq\":5,\"seq\":6,",
    "\"seq\":1e1,",
    "\"seq\":-0,",
    "\"seq\":1.5,",
    "\"seq\":-1,",
    "\"seq\":9007199254740991,",
    "\"seq\":9007199254740992,",
    "\"seq\":\"3\",",
    "\"seq\":null,",
    "",
];

const EVENTS: [&str; 37] = [
    r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h","provider":"p","model":"m","startTime":"t","cwd":"/c"}"#,
    r#""type":"session_start","payload":{"sessionId":"s","projectHash":"h"}"#,
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[]}}"#,
    r#""type":"content","payload":{"content":{"speaker":"user"}}"#,
    r#""type":"compressed","payload":{"summary":{"speaker":"ai","blocks":[]},"itemsCompressed":1}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1}"#,
    r#""type":"rewind","payload":{"itemsRemoved":2.5}"#,
    r#""type":"provider_switch","payload":{"provider":"q","model":""}"#,
    r#""type":"session_event","payload":{"severity":"info","message":"x"}"#,
    r#""type":"directories_changed","payload":{"directories":["/a"]}"#,
    r#""type":"session_metadata","payload":{"title":"t"}"#,
    r#""type":"session_metadata","payload":{"title":null}"#,
    r#""type":"session_metadata","payload":{"title":7}"#,
    r#""type":"session_named","payload":{"name":"n"}"#,
    r#""type":"session_named","payload":{"name":null}"#,
    r#""type":"session_forked","payload":{"parentSessionId":"p","parentSequence":1,"checkpointId":"a","checkpointName":"","y":0}"#,
    r#""type":"session_forked","payload":{"checkpointId":"a"}"#,
    r#""ts":"now","type":"checkpoint_created","payload":{"checkpointId":"a","name":"one"}"#,
    r#""type":"checkpoint_created","payload":{"checkpointId":"\u0061","name":"one again"}"#,
    r#""type":"checkpoint_created","payload":{"checkpointId":"b","name":"two"}"#,
    r#""type":"checkpoint_created","payload":{"checkpointId":"a","name":" "}"#,
    r#""type":"checkpoint_renamed","payload":{"checkpointId":"a","name":"three"}"#,
    r#""type":"checkpoint_renamed","payload":{"name":"four"}"#,
    r#""type":"checkpoint_deleted","payload":{"checkpointId":"a"}"#,
    r#""type":"checkpoint_deleted","payload":{"checkpointId":"\u0062"}"#,
    r#""type":"new","payload":{}"#,
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":1}}}}"#,
    r#""type":"content","payload":{"content":{"speaker":"ai","blocks":[],"metadata":{"chronology":{"seq":2}}}}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1,"cutSeq":1}"#,
    r#""type":"rewind","payload":{"itemsRemoved":1,"cutSeq":null}"#,
    r#""type":"density_mutation","payload":{"removedSeqs":[1],"replacements":[{"replacedSeq":2,"replacement":{"speaker":"ai","blocks":[]}}]}"#,
    r#""type":"density_mutation","payload":{"removedSeqs":[0.5],"replacements":[]}"#,
    r#""type":"synthetic_insert","payload":{"content":{"speaker":"ai","blocks":[]},"chronologySeq":1,"afterSeq":2}"#,
    r#""type":"chronology_bind","payload":{"rowIndex":1,"chronology":{"seq":1,"userTurn":0,"step":0,"recordedAt":0}}"#,
    r#""type":"chronology_bind","payload":{"rowIndex":0,"chronology":{"seq":2,"userTurn":0,"step":0,"recordedAt":0},"content":{"speaker":"ai","blocks":[]}}"#,
    r#""type":"semantic_media_purge","payload":{"history":[{"speaker":"ai","blocks":[0]}],"frontier":{"contentIndex":0,"blockIndex":0}}"#,
    r#""type":"compression_detail","payload":{"fromSeq":1,"toSeq":2,"itemsCompressed":3}"#,
];

fuzz_target!(|input: (u16, Option<i8>, bool, bool, &[u8])| {
    let (cut, through_seq, is_strict, is_noted, bytes) = input;
    let text = bytes.split(|byte| *byte == b'\n').map(line).collect::<Vec<_>>().join(&b'\n');
    let mut fold = Fold::new(FoldOptions {
        project_hash: None,
        through_seq: through_seq.map(f64::from),
        checkpoint_id: is_noted.then(|| vec![u16::from(b'a')]),
        mode: if is_strict { Mode::Strict } else { Mode::Lenient },
        ..FoldOptions::default()
    });
    let cut = (cut as usize).min(text.len());
    let cut = text[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let parts = fold.effect(&text[..cut], 0, true).then(fold.effect(&text[cut..], cut as u64, cut == 0));
    assert_eq!(parts, fold.effect(&text, 0, true));
});

/// The line itself. If its first byte cannot begin JSON, it is replaced by an event that the next two bytes select.
fn line(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [128..=255, seq, event, ..] => {
            let (seq, event) = (SEQS[*seq as usize % SEQS.len()], EVENTS[*event as usize % EVENTS.len()]);
            let version = 1 + u8::from(bytes.len() % 8 == 7);
            format!("{{\"v\":{version},{seq}{event}}}").into_bytes()
        }
        _ => bytes.to_vec(),
    }
}
