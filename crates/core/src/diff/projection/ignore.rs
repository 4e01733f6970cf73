//! Values that the caller excludes from the comparison: JSON pointers (RFC 6901) into an event.
//!
//! They start at the event as it is compared: `/kind`, `/node`, `/parent`, `/payload/…` in a run, `/type`, `/payload/…` in a session.

use super::mark::{Mark, Tree};
use crate::diff::error::DiffError;
use crate::json::Text;
use crate::json::{ROOT, Shape};

/// A JSON pointer: the keys and indices of a path. If empty, it points to the whole event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<Text<'static>>);

impl Pointer {
    /// Parses a pointer.
    pub fn parse(pointer: &str) -> Result<Self, DiffError> {
        let refused = |why| DiffError::InvalidPointer { pointer: pointer.to_owned(), why };
        if pointer.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let rest = pointer.strip_prefix('/').ok_or_else(|| refused("it does not begin with '/'"))?;
        let name = |escaped: &str| {
            let name = unescape(escaped).ok_or_else(|| refused("'~' stands before something else than 0 or 1"))?;
            Ok(Text::from_plain(&name).into_owned())
        };
        rest.split('/').map(name).collect::<Result<_, _>>().map(Pointer)
    }

    /// Marks the value at the pointer, if it exists, as dropped.
    pub fn apply(&self, tree: &mut Tree<'_>) {
        let mut index = ROOT;
        for name in &self.0 {
            let found = match tree.shape(index) {
                Shape::Object => tree.members(index).find(|&member| tree.key(member) == *name),
                Shape::Array => place(name.as_json()).and_then(|at| tree.element(index, at)),
                _ => None,
            };
            let Some(found) = found else { return };
            index = found;
        }
        tree.set_mark(index, Mark::Dropped);
    }
}

/// Parses an array index: digits without leading zeros.
fn place(name: &str) -> Option<usize> {
    let is_place = name == "0" || (!name.starts_with('0') && name.bytes().all(|byte| byte.is_ascii_digit()));
    name.parse().ok().filter(|_| is_place)
}

fn unescape(name: &str) -> Option<String> {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        plain.push(match (c, c == '~') {
            (_, true) => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            (c, false) => c,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::push_name;
    use proptest::prelude::*;

    fn dropped(pointer: &str, text: &'static str) -> Vec<String> {
        let mut tree = Tree::of(text.into()).unwrap();
        Pointer::parse(pointer).unwrap().apply(&mut tree);
        let mut found = Vec::new();
        let mut open = vec![ROOT];
        while let Some(index) = open.pop() {
            match tree.mark(index) {
                Mark::Dropped => found.push(tree.text(index).to_owned()),
                _ => open.extend(tree.children(index)),
            }
        }
        found
    }

    #[test]
    fn pointer_denotes_one_value() {
        let text = r#"{"a":{"b/c":[1,{"~d":2}],"":3},"*":{"0":4},"a~1":5,"\u0065":6}"#;
        for (pointer, value) in [
            ("/a/b~1c/0", "1"),
            ("/a/b~1c/1/~0d", "2"),
            ("/a/", "3"),
            ("/*/0", "4"),
            ("/a~01", "5"),
            ("/e", "6"),
            ("/a/b~1c", r#"[1,{"~d":2}]"#),
            ("", text),
        ] {
            assert_eq!(dropped(pointer, text), [value], "{pointer}");
        }
        for pointer in
            ["/x", "/a/b", "/a/b~1c/2", "/a/b~1c/-", "/a/b~1c/00", "/a/b~1c/01", "/a/b~1c/+1", "/*/*", "/e/f"]
        {
            assert_eq!(dropped(pointer, text), Vec::<String>::new(), "{pointer}");
        }
    }

    #[test]
    fn rejects_invalid_pointers() {
        for pointer in ["a", "a/b", "#/a", "/~", "/a~2", "/a~/b"] {
            let error = Pointer::parse(pointer).unwrap_err();
            assert!(matches!(error, DiffError::InvalidPointer { .. }), "{pointer}");
        }
    }

    proptest! {
        #[test]
        fn printed_names_parse_back(names in proptest::collection::vec("[a~/0\\-é\"]{0,4}", 0..4)) {
            let mut pointer = String::new();
            names.iter().for_each(|name| push_name(&mut pointer, name));
            let read: Vec<String> = Pointer::parse(&pointer).unwrap().0.iter().map(|name| name.to_plain().into_owned()).collect();
            prop_assert_eq!(read, names);
        }
    }
}
