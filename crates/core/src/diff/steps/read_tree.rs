//! Reads a line as an event and as a tree. The text of an item is scanned once: the event takes the spans of its values from the
//! tree.

use crate::diff::projection::{SpareTree, Tree};
use crate::json::{Cursor, Nesting, ROOT, Shape, Span, text_of};
use crate::session::format::ItemSink;
use crate::session::format::{Line, Mode};

/// Reads a line, and parses it into a tree if it is an object.
pub(super) fn read_tree<'l>(line: &'l [u8], spare: &mut SpareTree, nesting: &mut Nesting) -> (Line, Option<Tree<'l>>) {
    let tree = if may_be_object(line) { Tree::within(spare, text_of(line)) } else { None };
    // If bytes are not UTF-8, spans in the tree's text differ from those in the line.
    let items = tree.as_ref().filter(|tree| tree.is_borrowed());
    let read = Line::read_into(&mut TreeItems(items), line, Mode::Lenient, nesting);
    (read, tree)
}

fn may_be_object(line: &[u8]) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    cursor.peek() == Some(b'{')
}

/// Skips the items of a line, using the spans in its tree.
struct TreeItems<'t, 'l>(Option<&'t Tree<'l>>);

impl ItemSink for TreeItems<'_, '_> {
    fn begin_line(&mut self, _: u64) {}

    fn take(&mut self, cursor: &mut Cursor<'_>, mut member: impl FnMut(&[u8], Span)) -> bool {
        let Some(tree) = self.0 else { return false };
        let at = cursor.position() as u32;
        let holds = |index: &u32| {
            let Span { start, end } = tree.span(*index);
            (start..end).contains(&at)
        };
        // A member of the payload, which is a member of the line.
        let Some(item) = tree.children(ROOT).find(holds).and_then(|payload| tree.children(payload).find(holds)) else {
            return false;
        };
        if tree.span(item).start != at || tree.shape(item) != Shape::Object {
            return false;
        }
        tree.children(item).for_each(|child| member(tree.raw_key(child).as_bytes(), tree.span(child)));
        cursor.skip(tree.length(item));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            prop::sample::select(vec![
                "null",
                "1",
                "-0.5",
                "true",
                "\"\"",
                "\"ai\"",
                "\"\\u0061\"",
                "{}",
                "[]",
                "{",
                "nul",
                "\"é\""
            ])
            .prop_map(str::to_owned),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            let key = prop::sample::select(vec![
                "content",
                "summary",
                "speaker",
                "blocks",
                "itemsCompressed",
                "itemsRemoved",
                "payload",
                "type",
                "s\\u0070eaker",
            ]);
            prop_oneof![
                prop::collection::vec((key, inner.clone()), 0..4).prop_map(|members| {
                    let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
                    format!("{{{}}}", members.join(" ,"))
                }),
                prop::collection::vec(inner, 0..3).prop_map(|elements| format!("[{}]", elements.join(", "))),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_event_is_the_same_as_without_a_tree(
            name in prop::sample::select(vec!["content", "compressed", "rewind", "session_start", "other"]),
            before in prop::option::of(any_value()),
            payload in any_value(),
            item in any_value(),
            is_item in any::<bool>(),
            bad in prop::option::of(0..200usize),
        ) {
            let payload = if is_item { format!("{{\"content\":{item},\"summary\":{item},\"itemsCompressed\":1}}") } else { payload };
            let before = before.map_or(String::new(), |before| format!("\"payload\":{before},"));
            let mut line = format!(" {{{before}\"seq\":3,\"payload\": {payload},\"type\":\"{name}\"}} ").into_bytes();
            if let Some(place) = bad.filter(|place| *place < line.len()) {
                line[place] = 0xff;
            }
            let (mut nesting, mut spare) = (Nesting::default(), SpareTree::default());
            let (read, tree) = read_tree(&line, &mut spare, &mut nesting);
            prop_assert_eq!(&read, &Line::read(&line, Mode::Lenient, &mut nesting));
            prop_assert_eq!(tree.is_some(), matches!(read, Line::Event(_)));
        }
    }
}
