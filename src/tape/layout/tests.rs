use super::*;
use crate::tape::{OwnText, Replay};
use proptest::prelude::*;
use session_tape_core::lines::{OpenedPath, Threads};
use session_tape_core::session::fold::FoldOptions;

/// The history of a segment, and the layout of its items: each is a string with its number.
struct Segment {
    layout: Layout,
    values: Vec<u32>,
    items: Vec<ItemRef>,
    offset: u64,
}

impl Segment {
    fn new() -> Self {
        Segment { layout: Layout::new(Arc::default()), values: Vec::new(), items: Vec::new(), offset: 0 }
    }

    /// Adds a chunk that leaves `kept` items and adds these, each of `width` digits.
    fn chunk(&mut self, kept: usize, values: &[u32], width: usize) {
        let before = self.items.len();
        let kept = kept.min(before);
        self.items.truncate(kept);
        self.values.truncate(kept);
        let mut bytes = Vec::new();
        for value in values {
            let zeros = "0".repeat(width - value.to_string().len());
            let json = format!("\"{zeros}{value}\"");
            self.items.push(ItemRef::at(self.offset + bytes.len() as u64, json.len() as u32));
            self.values.push(*value);
            bytes.extend(json.into_bytes());
        }
        let chunk = Chunk { bytes: &bytes, offset: self.offset, at_start: false, unterminated: false };
        self.layout.begin_chunk(self.offset, before);
        self.layout.add(&chunk, kept, &self.items);
        self.offset += bytes.len() as u64;
    }

    /// The values on the tapes with the indices of their items, and the number of tapes.
    fn finish(&mut self) -> (Vec<(usize, u32)>, usize) {
        let mut tapes = self.layout.finish();
        let (mut laid_out, mut count) = (Vec::new(), 0);
        while let Some(tape) = tapes.take_next() {
            let values = numbers(&tape.tape);
            assert!(values.len() >= tape.items.len());
            laid_out.extend(tape.items.zip(values));
            count += 1;
        }
        assert_eq!(tapes.bytes(), 0);
        (laid_out, count)
    }
}

/// The numbers in the strings on a tape. Short strings are names or in the pool, long ones have a text of their own.
fn numbers(tape: &FinishedTape) -> Vec<u32> {
    let names: Vec<&[u8]> = tape.names().collect();
    let mut pool = tape.narrow.units();
    let mut number = |code: &i32| {
        let (kind, number) = (code & 15, (code >> 4) as usize);
        let text = match kind {
            2 => pool.split_off(..number).unwrap(),
            4 => names[number],
            5 | 6 => match &tape.texts[number] {
                OwnText::Narrow(text) => text.units(),
                OwnText::Json(json) => json,
                OwnText::Wide(_) => unreachable!("digits are narrow"),
            },
            _ => return None,
        };
        number_in(std::str::from_utf8(text).unwrap())
    };
    tape.codes.iter().filter_map(&mut number).collect()
}

/// The first quoted number in a text.
fn number_in(text: &str) -> Option<u32> {
    text.split('"').find_map(|word| word.parse().ok())
}

#[test]
fn full_tape_is_followed_by_another() {
    let mut segment = Segment::new();
    segment.chunk(0, &[1, 2, 3], TAPE_BYTES / 2 - 2);
    segment.chunk(3, &[4], 5);
    assert_eq!(segment.finish(), (vec![(0, 1), (1, 2), (2, 3), (3, 4)], 2));
    segment.items.clear();
    segment.chunk(0, &[7], 5);
    assert_eq!(segment.finish(), (vec![(0, 7)], 1), "the next segment begins with nothing");
}

#[test]
fn layout_pauses_after_a_compression() {
    let mut segment = Segment::new();
    segment.chunk(0, &[1], 5);
    segment.layout.pause_after(segment.offset);
    segment.chunk(0, &[2, 3], 5);
    segment.offset += PAUSE_BYTES;
    segment.chunk(2, &[4], 5);
    assert_eq!(segment.finish(), (vec![(2, 4)], 1));
}

#[test]
fn tapes_follow_the_history_that_they_belong_to() {
    let mut segment = Segment::new();
    segment.chunk(0, &[1, 2, 3], 5);
    let mut tapes = segment.layout.finish();
    segment.items.clear();
    segment.chunk(0, &[4, 5], 5);
    tapes.truncate(2);
    tapes.append(2, segment.layout.finish());
    assert_eq!(tapes.bytes(), 35);
    assert_eq!(tapes.next_items(0), Some(0..2));
    assert_eq!(tapes.take_next().map(|tape| numbers(&tape.tape)), Some(vec![1, 2, 3]), "the tape is as it was");
    assert_eq!(tapes.next_items(2), Some(2..4));
    assert_eq!(tapes.next_items(3), None, "what was sent already is not sent again");
    assert_eq!(tapes.bytes(), 0);
}

/// Mostly small widths: a few large ones suffice to fill tapes.
fn any_width() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 10..600_usize, 1 => 10..60_000_usize]
}

proptest! {
    /// The tapes have the items of the history, whatever the chunks remove and add, with items of all sizes.
    #[test]
    fn tapes_hold_the_items_of_the_history(
        chunks in prop::collection::vec((0..40_usize, prop::collection::vec(any::<u32>(), 0..12), any_width()), 0..12),
    ) {
        let mut segment = Segment::new();
        for (removed, values, width) in chunks {
            segment.chunk(segment.items.len().saturating_sub(removed), &values, width);
        }
        let expected: Vec<_> = segment.values.iter().copied().enumerate().collect();
        prop_assert_eq!(segment.finish().0, expected);
    }

    /// What is laid out while it is scanned is the history, even if lines have items that the history does not get, or loses again.
    #[test]
    fn layout_ahead_agrees_with_the_history(lines in prop::collection::vec(any_line(), 0..60)) {
        let mut text = format!("{START}\n");
        for (seq, (kind, number, width)) in lines.iter().enumerate() {
            text.push_str(&kind.line(seq + 2, *number, *width));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let pause = Arc::<LayoutBackoff>::default();
        let layout = || Some(Layout::new(pause.clone()));
        let opened = Replay::open_laid_out(OpenedPath::at(file.path()), FoldOptions::default(), Threads::All, layout);
        let mut replay = opened.unwrap();
        while replay.scan_on().unwrap().is_some() {}
        let tapes = std::mem::take(replay.laid_out());
        let in_text = |item: &ItemRef| {
            number_in(&text[item.offset as usize..][..item.length as usize]).unwrap()
        };
        let history: Vec<_> = replay.items().iter().map(in_text).collect();
        for tape in tapes.tapes {
            let laid_out = numbers(&tape.tape);
            prop_assert_eq!(&laid_out[..tape.items.len()], &history[tape.items.clone()]);
        }
    }
}

const START: &str = r#"{"v":1,"seq":1,"ts":"t","type":"session_start","payload":{"sessionId":"s","projectHash":"h","workspaceDirs":[],"provider":"p","model":"m","startTime":"t"}}"#;

/// What a line does with its item.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Content,
    Padded,
    /// With a member that is left to a JSON parser.
    Unfit,
    Twice,
    OtherType,
    Malformed,
    NotJson,
    Rewind,
    Compressed,
}

impl Kind {
    fn line(self, seq: usize, number: u32, width: usize) -> String {
        let item = format!(r#"{{"speaker":"ai","n":"{number:0width$}","blocks":[]}}"#);
        let event = |event_type: &str, payload: &str| {
            format!(r#"{{"v":1,"seq":{seq},"ts":"t","type":"{event_type}","payload":{payload}}}"#)
        };
        let content = event("content", &format!(r#"{{"content":{item}}}"#));
        let line = match self {
            Kind::Content => content,
            Kind::Padded => format!("{content}\n\n"),
            Kind::Unfit => content.replace(r#","blocks""#, r#","7x":{"0":0},"8":[],"blocks""#),
            Kind::Twice => event("content", &format!(r#"{{"content":{{"speaker":"ai","n":"7"}},"content":{item}}}"#)),
            Kind::OtherType => event("other", &format!(r#"{{"content":{item}}}"#)),
            Kind::Malformed => event("content", &format!(r#"{{"content":{}}}"#, item.replace("ai", ""))),
            Kind::NotJson => content.replace("}}}", "}}"),
            Kind::Rewind => event("rewind", &format!(r#"{{"itemsRemoved":{}}}"#, number % 9)),
            Kind::Compressed => event("compressed", &format!(r#"{{"summary":{item},"itemsCompressed":1}}"#)),
        };
        format!("{line}\n")
    }
}

/// Mostly content, in lines of all lengths: a chunk is 256 KiB.
fn any_line() -> impl Strategy<Value = (Kind, u32, usize)> {
    use Kind::{Compressed, Content, Malformed, NotJson, OtherType, Padded, Rewind, Twice, Unfit};
    let kind = prop_oneof![
        30 => Just(Content),
        7 => prop::sample::select(vec![Padded, Unfit, Twice, OtherType, Malformed, NotJson, Rewind]),
        1 => prop::sample::select(vec![Compressed]),
    ];
    (kind, any::<u32>(), prop_oneof![Just(1_usize), 10..30_000_usize])
}
