//! Any bytes as the effect in a snapshot: rejected, or lines that follow can be folded onto it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::session::fold::{Effect, Fold, FoldOptions};
use session_tape_core::session::format::Mode;

const END: u64 = 1 << 20;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (stored, text) = input;
    let Ok(effect) = postcard::from_bytes::<Effect>(stored) else { return };
    if !effect.is_possible(END) {
        return;
    }
    let later = Fold::new(FoldOptions::default()).effect(text, END, false);
    let mut whole = effect.then(later);
    whole.settle_beginning();
    assert!(whole.warnings.messages().len() <= 101);
    for mode in [Mode::Lenient, Mode::Strict] {
        whole.tally.messages(mode);
    }
});
