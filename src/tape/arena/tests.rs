use super::*;
use proptest::prelude::*;

/// An arena with enough text so far to use chunks.
fn arena() -> Arena {
    Arena { total: FIRST_BYTES, ..Arena::default() }
}

/// The part of a chunk that a text is in.
fn part<Unit>(shared: &Shared<Unit>) -> &Part<Unit> {
    match &shared.0 {
        Memory::Part(part) => part,
        Memory::Whole(_) => panic!("the text is in no chunk"),
    }
}

fn shared<Unit: Copy>(arena: &mut Arena, text: &[Unit]) -> Shared<Unit> {
    match arena.text(text) {
        Text::Shared(shared) => shared,
        Text::Own(_) => panic!("the text is not shared"),
    }
}

#[test]
fn short_texts_and_those_of_a_small_replay_are_copied() {
    let is_shared = |arena: &mut Arena, length| matches!(arena.text(&vec![b'a'; length]), Text::Shared(_));
    let mut small = Arena::default();
    assert!(!is_shared(&mut small, FIRST_BYTES - 1));
    assert!(is_shared(&mut small, MIN_BYTES));
    assert!(!is_shared(&mut small, MIN_BYTES - 1));
}

#[test]
fn texts_outlive_their_arena_and_each_other() {
    let mut arena = arena();
    let texts: Vec<_> = (0..40_u8).map(|byte| shared(&mut arena, &vec![byte; 200_000])).collect();
    drop(arena);
    let last = texts.into_iter().enumerate().map(|(byte, text)| {
        assert_eq!(text.units(), vec![byte as u8; 200_000]);
        text
    });
    // All but one are dropped, on another thread, as engines do.
    let last = std::thread::spawn({
        let all: Vec<_> = last.collect();
        move || all.into_iter().nth(20).unwrap()
    })
    .join()
    .unwrap();
    assert_eq!(last.units(), [20; 200_000]);
}

#[test]
fn arena_accepts_texts_of_any_length() {
    let mut arena = arena();
    let large = [7_u16].repeat(3 * HUGE_PAGE);
    let (one, other) = (shared(&mut arena, &large), shared(&mut arena, &[1_u16; 5000]));
    assert_eq!(one.units(), large);
    assert_eq!(other.units(), [1; 5000]);
}

/// A string that is kept must not keep the memory of its neighbours.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn dropped_text_releases_its_pages() {
    let mut arena = arena();
    let (kept, dropped) = (shared(&mut arena, &[1_u8; MIN_BYTES]), shared(&mut arena, &[2_u8; 1 << 20]));
    let (chunk, start) = (part(&kept).chunk.clone(), part(&dropped).start);
    drop(dropped);
    // SAFETY: a page in the middle of the dropped text is still mapped; it reads as zeros once it is
    // released.
    let page = unsafe { slice::from_raw_parts(chunk.at(start + (1 << 19)), 64) };
    assert_eq!(page, [0; 64]);
    assert!(kept.units().iter().all(|unit| *unit == 1));
}

proptest! {
    /// Texts of all lengths, dropped or taken back in any order: the others keep their content.
    #[test]
    fn texts_never_overlap(lengths in prop::collection::vec((MIN_BYTES..300_000_usize, 0..5_u8), 1..30)) {
        let mut arena = arena();
        let mut kept = Vec::new();
        for (index, (length, end)) in lengths.into_iter().enumerate() {
            let text = vec![index as u8 + 1; length];
            let shared = shared(&mut arena, &text);
            match end {
                0 => drop(shared),
                1 => arena.take_back(Text::Shared(shared)),
                2 if !kept.is_empty() => {
                    let (_, earlier) = kept.swap_remove(index % kept.len());
                    kept.push((text, shared));
                    arena.take_back(Text::Shared(earlier));
                }
                _ => kept.push((text, shared)),
            }
        }
        for (text, shared) in &kept {
            prop_assert_eq!(shared.units(), &text[..]);
        }
    }
}
