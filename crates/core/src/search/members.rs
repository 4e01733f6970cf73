//! The strings in a JSON value, in the order in which JavaScript walks the parsed value: of duplicate keys only the last value, in the place of the first;
//! keys that are indices before all others. Without recursion.

use std::borrow::Cow;
use std::collections::HashMap;

use super::wtf8::decode_wtf8;
use crate::json::{Cursor, Nesting, NotJson, Span, decode};
use crate::order;

/// The strings in the values of a line. Reused for all lines.
#[derive(Default)]
pub(super) struct Values {
    nodes: Vec<Node>,
    nesting: Nesting,
}

/// A value in an object or an array, or the outermost one.
struct Node {
    parent: u32,
    step: Step,
    kind: Kind,
    /// The first and the last member, and the next member of the same parent.
    first: u32,
    last: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The index in an array.
    Index(u32),
    /// The key in an object, without its quotes.
    Key(Span),
    Root,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String(Span),
    /// Not an element of an array: only a member of an object, where it may replace a string, or the outermost value.
    Other,
}

const NONE: u32 = u32::MAX;

/// The place of a string in a value.
pub(super) struct Path<'v> {
    values: &'v Values,
    node: u32,
}

impl Values {
    /// Calls `take` with each string in the value at `span`, which is valid JSON.
    pub(super) fn each_string(&mut self, line: &[u8], span: Span, mut take: impl FnMut(Span, &Path<'_>)) {
        self.nodes.clear();
        // The line was scanned before.
        if self.read(line, span).is_err() {
            return;
        }
        let mut at = 0;
        loop {
            let node = &self.nodes[at as usize];
            if let Kind::String(span) = node.kind {
                take(span, &Path { values: self, node: at });
            }
            at = if node.first == NONE { self.next_of(at) } else { node.first };
            if at == NONE {
                break;
            }
        }
        if self.nodes.capacity() > MAX_KEPT_NODES {
            self.nodes = Vec::new();
        }
    }

    /// The node behind a node and everything in it.
    fn next_of(&self, mut at: u32) -> u32 {
        loop {
            let node = &self.nodes[at as usize];
            if node.next != NONE {
                return node.next;
            }
            if node.parent == NONE {
                return NONE;
            }
            at = node.parent;
        }
    }

    fn read(&mut self, line: &[u8], span: Span) -> Result<(), NotJson> {
        let mut cursor = Cursor::new(&line[..span.end as usize]);
        cursor.skip(span.start as usize);
        let (mut parent, mut step) = (NONE, Step::Root);
        loop {
            cursor.white_space();
            let opened = self.read_value(&mut cursor, parent, step)?;
            if let Some(opened) = opened {
                parent = opened;
                step = Step::Index(0);
            } else if !self.leave(line, &mut cursor, &mut parent, &mut step)? {
                return Ok(());
            }
            if parent != NONE && self.nodes[parent as usize].kind == Kind::Object {
                cursor.white_space();
                let key = cursor.string()?;
                step = Step::Key(Span { start: key.start + 1, end: key.end - 1 });
                cursor.white_space();
                cursor.skip(1);
            }
        }
    }

    /// Reads a value, of a container with members only its bracket. Returns the node of such a container.
    fn read_value(&mut self, cursor: &mut Cursor<'_>, parent: u32, step: Step) -> Result<Option<u32>, NotJson> {
        let (kind, end) = match cursor.peek() {
            Some(b'"') => {
                let span = cursor.string()?;
                self.push(parent, step, Kind::String(span));
                return Ok(None);
            }
            Some(b'{') => (Kind::Object, b'}'),
            Some(b'[') => (Kind::Array, b']'),
            _ => {
                cursor.value(&mut self.nesting)?;
                if !matches!(step, Step::Index(_)) {
                    self.push(parent, step, Kind::Other);
                }
                return Ok(None);
            }
        };
        cursor.skip(1);
        cursor.white_space();
        let node = self.push(parent, step, kind);
        if cursor.peek() == Some(end) {
            cursor.skip(1);
            return Ok(None);
        }
        Ok(Some(node))
    }

    /// After a value: leaves the containers that end here. Returns whether another value follows, and updates its place.
    fn leave(
        &mut self,
        line: &[u8],
        cursor: &mut Cursor<'_>,
        parent: &mut u32,
        step: &mut Step,
    ) -> Result<bool, NotJson> {
        while *parent != NONE {
            cursor.white_space();
            let is_more = cursor.peek() == Some(b',');
            cursor.skip(1);
            if is_more {
                if let Step::Index(index) = step {
                    *index += 1;
                }
                return Ok(true);
            }
            let node = &self.nodes[*parent as usize];
            let (closed, outer, outer_step) = (*parent, node.parent, node.step);
            if node.kind == Kind::Object {
                self.order(line, closed);
            }
            (*parent, *step) = (outer, outer_step);
        }
        Ok(false)
    }

    #[inline]
    fn push(&mut self, parent: u32, step: Step, kind: Kind) -> u32 {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, step, kind, first: NONE, last: NONE, next: NONE });
        if let Some(outer) = self.nodes.get_mut(parent as usize) {
            let last = std::mem::replace(&mut outer.last, node);
            if last == NONE {
                outer.first = node;
            } else {
                self.nodes[last as usize].next = node;
            }
        }
        node
    }

    /// Puts the members of an object into the order of JavaScript.
    fn order(&mut self, line: &[u8], object: u32) {
        let mut members = Vec::new();
        let mut at = self.nodes[object as usize].first;
        while at != NONE {
            members.push(at);
            at = self.nodes[at as usize].next;
        }
        let key_of = |at: &u32| match self.nodes[*at as usize].step {
            Step::Key(span) => &line[span.start as usize..span.end as usize],
            _ => &[],
        };
        let keys: Vec<_> = members.iter().map(|at| decode_wtf8(key_of(at))).collect();
        let Some(ordered) = in_order(&keys) else { return };
        drop(keys);
        let ordered: Vec<_> = ordered.into_iter().map(|at| members[at]).collect();
        for pair in ordered.windows(2) {
            self.nodes[pair[0] as usize].next = pair[1];
        }
        if let (Some(first), Some(last)) = (ordered.first(), ordered.last()) {
            self.nodes[*last as usize].next = NONE;
            (self.nodes[object as usize].first, self.nodes[object as usize].last) = (*first, *last);
        }
    }
}

/// Number of nodes for which memory is kept from line to line.
const MAX_KEPT_NODES: usize = 64 << 10;

/// Up to this number of keys are compared with each other.
const FEW_KEYS: usize = 16;

/// The places of the members that remain, in the order of JavaScript. `None` if that is their own order.
fn in_order(keys: &[Cow<'_, [u8]>]) -> Option<Vec<usize>> {
    let has_index = keys.iter().any(|key| index_of(key).is_some());
    let has_duplicate = if keys.len() <= FEW_KEYS {
        keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key))
    } else {
        let mut seen = std::collections::HashSet::with_capacity(keys.len());
        !keys.iter().all(|key| seen.insert(key))
    };
    if !has_index && !has_duplicate {
        return None;
    }
    let mut first: HashMap<&[u8], usize> = HashMap::new();
    let mut remaining: Vec<usize> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        match first.get(&**key) {
            Some(place) => remaining[*place] = at,
            None => {
                first.insert(key, remaining.len());
                remaining.push(at);
            }
        }
    }
    // Stable: keys that are no indices keep their order.
    let rank = |at: usize| index_of(&keys[at]).map_or((true, 0), |index| (false, index));
    order::sort_places(&mut remaining, &mut |one, other| rank(one).cmp(&rank(other)));
    Some(remaining)
}

/// The index that a key is: an integer below 2^32 - 1 in its usual notation.
fn index_of(key: &[u8]) -> Option<u32> {
    if key.is_empty() || key.len() > 10 || (key.len() > 1 && key[0] == b'0') || !key.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(key).ok()?.parse().ok().filter(|index| *index < u32::MAX)
}

impl Path<'_> {
    /// Appends the path as a JSON pointer.
    pub(super) fn append_pointer(&self, line: &[u8], pointer: &mut Vec<u16>) {
        let mut steps = Vec::new();
        let mut at = self.node;
        while at != NONE {
            let node = &self.values.nodes[at as usize];
            steps.push(node.step);
            at = node.parent;
        }
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => {}
                Step::Index(index) => pointer.extend(format!("/{index}").encode_utf16()),
                Step::Key(span) => append_key(&line[span.start as usize..span.end as usize], pointer),
            }
        }
    }
}

/// Appends a key, as written between its quotes, as a step of a JSON pointer.
fn append_key(key: &[u8], pointer: &mut Vec<u16>) {
    pointer.push(u16::from(b'/'));
    for unit in decode(key) {
        match u8::try_from(unit) {
            Ok(b'~') => pointer.extend("~0".encode_utf16()),
            Ok(b'/') => pointer.extend("~1".encode_utf16()),
            _ => pointer.push(unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(json: &str) -> Vec<String> {
        let mut found = Vec::new();
        let span = Span { start: 0, end: json.len() as u32 };
        Values::default().each_string(json.as_bytes(), span, |span, path| {
            let mut pointer = Vec::new();
            path.append_pointer(json.as_bytes(), &mut pointer);
            let text = &json[span.start as usize + 1..span.end as usize - 1];
            found.push(format!("{}={text}", String::from_utf16_lossy(&pointer)));
        });
        found
    }

    #[test]
    fn strings_come_in_the_order_of_javascript() {
        assert_eq!(strings(r#""a""#), ["=a"]);
        assert_eq!(strings("7"), [""; 0]);
        assert_eq!(strings(r#" ["a" , 1, [ "b", [] ], {}, {"c" : "d"} ] "#.trim()), ["/0=a", "/2/0=b", "/4/c=d"]);
        assert_eq!(
            strings(r#"{"b":"1","a":"2","10":"3","9":"4","01":"5","4294967295":"6"}"#),
            ["/9=4", "/10=3", "/b=1", "/a=2", "/01=5", "/4294967295=6"]
        );
        assert_eq!(strings(r#"{"a":"1","b":"2","a":{"c":"3"},"d":"4","\u0064":5}"#), ["/a/c=3", "/b=2"]);
        assert_eq!(strings(r#"{"a/b":{"~":"1"},"":"2"}"#), ["/a~1b/~0=1", "/=2"]);
    }

    #[test]
    fn objects_of_many_keys_are_put_in_order_too() {
        let members: Vec<_> = (0..40).rev().map(|key| format!(r#""{key}":"{key}","k{key}":"x","k3":"y""#)).collect();
        let found = strings(&format!("{{{}}}", members.join(",")));
        assert_eq!(found.len(), 80);
        assert_eq!(found[..3], ["/0=0", "/1=1", "/2=2"]);
        assert_eq!(found[40..43], ["/k39=x", "/k3=y", "/k38=x"]);
    }

    #[test]
    fn nesting_costs_no_stack_and_linear_time() {
        let depth = 200_000;
        let json = format!("{}\"a\"{}", "[{\"k\":".repeat(depth), "}]".repeat(depth));
        let mut found = 0;
        Values::default().each_string(json.as_bytes(), Span { start: 0, end: json.len() as u32 }, |_, _| found += 1);
        assert_eq!(found, 1);
    }
}
