//! Any bytes as a file, cut anywhere at a line's end: the effect of the whole is that of its parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape::session::event::Mode;
use session_tape::session::fold::{Fold, FoldOptions};

fuzz_target!(|input: (u16, Option<i8>, bool, &[u8])| {
    let (cut, through_seq, is_strict, text) = input;
    let mode = if is_strict { Mode::Strict } else { Mode::Lenient };
    let options = FoldOptions { project_hash: None, through_seq: through_seq.map(f64::from), mode };
    let mut fold = Fold::new(options);
    let cut = (cut as usize).min(text.len());
    let cut = text[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let parts = fold.effect(&text[..cut], 0, true).then(fold.effect(&text[cut..], cut as u64, cut == 0));
    assert_eq!(parts, fold.effect(text, 0, true));
});
