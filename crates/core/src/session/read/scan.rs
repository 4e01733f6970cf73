//! Scans a segment of a session file and folds its lines to one effect.

use std::ops::Range;
use std::sync::Arc;

use super::item_layout::ItemLayout;
use crate::lines::{Block, Digest, LineReader, LineSource, Passed, ReadError};
use crate::session::fold::{Effect, Fold, FoldOptions, Truncation};
use crate::session::format::NEEDED;
use crate::task::Worker;

/// The result of scanning a segment.
pub(super) struct Scanned<L: ItemLayout> {
    /// The offset of the first line that begins in the segment; `None` if none does.
    pub begin: Option<u64>,
    /// The offset after the last scanned line.
    pub end: u64,
    /// The effect of the lines that end with `\n`.
    pub effect: Effect,
    /// Items of that effect that are laid out.
    pub laid_out: L::LaidOut,
    /// The effect of a last line without `\n`, which may still be incomplete.
    pub unterminated: Option<Effect>,
    /// The digest of the lines that end with `\n`, if digests are requested, and the offset after them. `None` if one of them has a hole.
    pub block: Option<Block>,
    /// Whether the scan reached the end of the file.
    pub at_end: bool,
    /// The error that stopped the scan.
    pub error: Option<ReadError>,
}

/// Scans the segments of one worker thread.
pub(super) struct Scanner<L> {
    source: Arc<LineSource>,
    reader: LineReader,
    fold: Fold,
    digests: bool,
    layout: Option<L>,
}

impl<L: ItemLayout> Scanner<L> {
    /// A scanner of `source` that folds with `options`, computes digests if `digests` is set, and lays out items if there is a `layout`.
    pub(crate) fn new(source: Arc<LineSource>, options: FoldOptions, digests: bool, layout: Option<L>) -> Self {
        // Items are laid out while their lines are scanned, so these are needed as a whole.
        let reader = LineReader::default();
        let reader = if layout.is_some() { reader } else { reader.abridging(NEEDED) };
        Scanner { source, reader, fold: Fold::new(options), digests, layout }
    }

    fn scan(&mut self, scanned: &mut Scanned<L>) -> Result<(), ReadError> {
        scanned.begin = self.reader.first_line(&self.source)?;
        let mut digest = self.digests.then(Digest::default);
        while !scanned.effect.stopped {
            let before = digest.clone();
            let mut observe = |passed: Passed<'_>| match (passed, &mut digest) {
                (Passed::Bytes(bytes), Some(digest)) => digest.add(bytes),
                // Computing the digest of a hole takes as long as reading it.
                (Passed::Hole, digest) => *digest = None,
                (_, None) => {}
            };
            let Some(chunk) = self.reader.next_chunk(&self.source, scanned.effect.lines, &mut observe)? else { break };
            let length = scanned.effect.history.items().len();
            let effect = match &mut self.layout {
                Some(layout) if !chunk.unterminated => {
                    layout.begin_chunk(chunk.offset, length);
                    self.fold.effect_into(layout, chunk.bytes, chunk.offset, chunk.at_start)
                }
                _ => match chunk.abridged {
                    None => self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start),
                    Some(abridged) => {
                        self.fold.effect_of_abridged(abridged, chunk.offset, chunk.at_start, &self.source)?
                    }
                },
            };
            if chunk.unterminated {
                scanned.unterminated = Some(effect);
                digest = before;
            } else {
                let kept = effect.history.kept_of(length);
                let is_emptied = effect.history.plain.drop == Truncation::All;
                scanned.effect = std::mem::take(&mut scanned.effect).then(effect);
                if let Some(layout) = &mut self.layout {
                    if is_emptied {
                        layout.pause_after(chunk.offset);
                    }
                    if scanned.effect.history.has_edits() {
                        layout.give_up(kept);
                    } else {
                        layout.add(&chunk, kept, scanned.effect.history.items());
                    }
                }
                let end = self.reader.position();
                scanned.block = digest.as_ref().map(|digest| Block { end, digest: digest.value() });
            }
        }
        Ok(())
    }
}

impl<L: ItemLayout> Worker for Scanner<L> {
    type Job = Range<u64>;
    type Output = Scanned<L>;

    fn work(&mut self, segment: Range<u64>) -> Scanned<L> {
        let mut scanned = Scanned {
            begin: None,
            end: segment.start,
            effect: Effect::default(),
            laid_out: L::LaidOut::default(),
            unterminated: None,
            block: None,
            at_end: false,
            error: None,
        };
        self.reader.begin(segment);
        scanned.error = self.scan(&mut scanned).err();
        scanned.laid_out = self.layout.as_mut().map(L::finish).unwrap_or_default();
        scanned.end = self.reader.position();
        scanned.at_end = self.reader.is_at_end();
        scanned
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::lines::Abridged;
    use crate::session::format::Mode;
    use proptest::prelude::*;

    /// Values, mostly longer than what an abridged line keeps.
    fn value() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("\"t\"".to_owned()),
            Just("7".to_owned()),
            Just("null".to_owned()),
            (0usize..300).prop_map(|length| format!("\"{}\\n\\u00e9\"", "s".repeat(length))),
            (1usize..300).prop_map(|length| "1".repeat(length)),
        ];
        scalar.prop_recursive(3, 60, 12, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..12).prop_map(|values| format!("[{}]", values.join(" ,"))),
                proptest::collection::vec((key(), inner), 0..12).prop_map(|members| object(&members)),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "k",
            "speaker",
            "blocks",
            "content",
            "\\u0073peaker",
            "title",
            "seq",
            "name",
            "metadata",
            "payload",
            "history",
            "replacedSeq",
            "afterSeq",
            "v",
        ])
        .prop_map(str::to_owned)
    }

    fn object(members: &[(String, String)]) -> String {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
        format!("{{{}}}", members.join(", "))
    }

    fn shuffled(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
        let extra = proptest::collection::vec((key(), value()), 0..12);
        let named = members.into_iter().map(|(key, value)| (Just(key.to_owned()), value)).collect::<Vec<_>>();
        (named, extra)
            .prop_map(|(named, extra)| [extra, named].concat())
            .prop_shuffle()
            .prop_map(|all| object(&all))
            .boxed()
    }

    fn any_of(values: &[&'static str]) -> BoxedStrategy<String> {
        prop_oneof![4 => prop::sample::select(values.to_vec()).prop_map(str::to_owned), 1 => value()].boxed()
    }

    fn line() -> BoxedStrategy<String> {
        let item = || {
            let blocks = proptest::collection::vec(value(), 0..20).prop_map(|values| format!("[{}]", values.join(",")));
            let marker = shuffled(vec![("seq", any_of(&["1", "2", "2.5"]))]);
            let metadata = prop_oneof![4 => shuffled(vec![("chronology", marker)]), 1 => value()];
            let members =
                vec![("speaker", any_of(&["\"ai\""])), ("blocks", blocks.boxed()), ("metadata", metadata.boxed())];
            prop_oneof![8 => shuffled(members), 1 => value()].boxed()
        };
        let seq = || prop_oneof![8 => any_of(&["0", "1", "2e0"]), 1 => long_number()].boxed();
        let replacement = shuffled(vec![("replacedSeq", seq()), ("replacement", item())]);
        let marker =
            shuffled(["seq", "userTurn", "step", "recordedAt"].map(|key| (key, any_of(&["1", "20"]))).to_vec());
        let frontier = prop_oneof![
            1 => any_of(&[r#"{"contentIndex":0,"blockIndex":0}"#]),
            1 => shuffled(vec![("contentIndex", any_of(&["0", "1"])), ("blockIndex", any_of(&["0", "1"]))]),
        ];
        let strings = prop_oneof![30 => Just("\"d\"".to_owned()), 1 => value()];
        let list = move || prop_oneof![any_of(&["[]", "[\"d\", \"e\"]"]), list_of(strings.clone().boxed())].boxed();
        let long_blank = (0usize..100, any::<bool>()).prop_map(|(length, has_ink)| {
            format!("\"{}{}\"", "\\u00a0 \u{2003}\u{3000}".repeat(length), if has_ink { "é" } else { "" })
        });
        let text = move || prop_oneof![4 => any_of(&["\"a\"", "\"\"", "null"]), 1 => long_blank.clone()].boxed();
        let number = || any_of(&["1", "2.5", "-1"]);
        let checkpoint = vec![("name", text()), ("checkpointId", text())];
        let fork = vec![("parentSessionId", text()), ("parentSequence", number()), ("checkpointName", text())];
        let start = vec![
            ("sessionId", text()),
            ("projectHash", text()),
            ("provider", text()),
            ("model", text()),
            ("startTime", text()),
            ("workspaceDirs", list()),
            ("cwd", text()),
        ];
        let events = prop_oneof![
            event("content", vec![("content", item())]),
            event("compressed", vec![("summary", item()), ("itemsCompressed", number())]),
            event("rewind", vec![("itemsRemoved", number()), ("cutSeq", seq())]),
            event("rewind", vec![("itemsRemoved", number())]),
            event("density_mutation", vec![("removedSeqs", list_of(seq())), ("replacements", list_of(replacement))]),
            event("synthetic_insert", vec![("content", item()), ("chronologySeq", seq()), ("afterSeq", seq())]),
            event(
                "chronology_bind",
                vec![("rowIndex", seq()), ("chronology", marker), ("invalidateResponses", any_of(&["true", "false"]))]
            ),
            event(
                "chronology_bind",
                vec![
                    ("rowIndex", seq()),
                    ("chronology", any_of(&[r#"{"seq":1,"userTurn":2,"step":3,"recordedAt":4}"#])),
                    ("content", item())
                ]
            ),
            event("semantic_media_purge", vec![("history", list_of(item())), ("frontier", frontier.boxed())]),
            event("compression_detail", vec![("fromSeq", seq()), ("toSeq", seq()), ("itemsCompressed", number())]),
            event("provider_switch", vec![("provider", text()), ("model", text())]),
            event("session_event", vec![("severity", any_of(&["\"info\""])), ("message", text())]),
            event("directories_changed", vec![("directories", list())]),
            event("session_metadata", vec![("title", text())]),
            event("session_named", checkpoint.clone()),
            event("checkpoint_created", checkpoint.clone()),
            event("checkpoint_renamed", checkpoint.clone()),
            event("checkpoint_deleted", checkpoint.clone()),
            event("session_forked", [checkpoint, fork].concat()),
            event("session_start", start),
            shuffled(vec![("type", value().boxed())]),
        ];
        prop_oneof![20 => events, 1 => value()].boxed()
    }

    fn list_of(element: BoxedStrategy<String>) -> BoxedStrategy<String> {
        prop_oneof![3 => 0usize..4, 1 => 0usize..60]
            .prop_flat_map(move |length| proptest::collection::vec(element.clone(), length))
            .prop_map(|elements| format!("[{}]", elements.join(" , ")))
            .boxed()
    }

    /// Numbers of more digits than are kept.
    fn long_number() -> BoxedStrategy<String> {
        (0usize..2000, prop::sample::select(vec!["1", "0", "2e-", "9007199254740993.", "1."]), 0usize..2000)
            .prop_map(|(zeros, before, exponent)| match before {
                "2e-" => format!("2{}e-{exponent}", "0".repeat(zeros)),
                "0" => format!("0.{}5e{exponent}", "0".repeat(zeros)),
                "1" => format!("1{}", "0".repeat(zeros)),
                _ => format!("{before}{}1", "0".repeat(zeros)),
            })
            .boxed()
    }

    fn event(name: &'static str, payload: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
        let name = Just(format!("\"{name}\"")).boxed();
        let number = prop_oneof![4 => any_of(&["1", "2.5", "-1"]), 1 => long_number()].boxed();
        shuffled(vec![
            ("v", any_of(&["1", "2"])),
            ("type", name),
            ("seq", number),
            ("ts", any_of(&["\"t\""])),
            ("payload", shuffled(payload)),
        ])
    }

    #[test]
    fn of_a_long_edit_with_the_same_keys_the_last_ones_are_kept() {
        let item = r#"{"speaker":"ai","blocks":[]}"#;
        let entry = |key: usize| format!(r#"{{"replacedSeq":{},"replacement":{item}}}"#, key % 10);
        let (keys, entries): (Vec<_>, Vec<_>) = (0..100_000).map(|key| ((key % 7).to_string(), entry(key))).unzip();
        let line = format!(
            r#"{{"type":"density_mutation","payload":{{"removedSeqs":[{}],"replacements":[{}]}}}}"#,
            keys.join(","),
            entries.join(",")
        );
        let mut abridged = Abridged::new(NEEDED);
        abridged.add(line.as_bytes());
        let source = LineSource::in_memory(line.clone().into_bytes());
        let effect = Fold::new(FoldOptions::default()).effect_of_abridged(&abridged, 0, false, &source).unwrap();
        assert!(effect.history.edit_size() < 2 * (1 << 16), "{}", effect.history.edit_size());
        let text = format!("{:?}", effect.history.steps[0].edit);
        for key in 0..10 {
            let last = line.rfind(&entry(key)).unwrap() + entry(key).len() - 1 - item.len();
            assert!(text.contains(&format!("({key}, ItemRef {{ offset: {last}, length: {}", item.len())), "{key}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn abridged_line_has_the_effect_of_the_whole_line(
            line in line(),
            changed in proptest::option::weighted(0.3, (any::<prop::sample::Index>(), prop::sample::select(&b"{}[],:\"\\ 0-e.tn\x01\x80"[..]))),
            steps in proptest::collection::vec(1usize..90, 1..5),
            at_start in any::<bool>(),
            is_strict in any::<bool>(),
        ) {
            const OFFSET: u64 = 3;
            let mut line = line.into_bytes();
            if let Some((at, byte)) = changed {
                let at = at.index(line.len());
                line[at] = byte;
            }
            line.push(b'\n');
            let (mut abridged, mut rest) = (Abridged::new(NEEDED), &line[..]);
            for step in steps.iter().cycle() {
                let (piece, behind) = rest.split_at((*step).min(rest.len()));
                abridged.add(piece);
                rest = behind;
                if rest.is_empty() {
                    break;
                }
            }
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&[&b"{}\n"[..OFFSET as usize], &line].concat()).unwrap();
            let source = LineSource::open(file.path()).unwrap();
            let mode = if is_strict { Mode::Strict } else { Mode::Lenient };
            let mut fold = Fold::new(FoldOptions { mode, ..FoldOptions::default() });
            let expected = fold.effect(&line, OFFSET, at_start);
            prop_assert_eq!(fold.effect_of_abridged(&abridged, OFFSET, at_start, &source).unwrap(), expected);
        }
    }
}
