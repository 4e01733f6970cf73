//! The strings in a JSON value, in the order in which JavaScript walks the parsed value: of duplicate keys only the last value, in the place of the first;
//! keys that are indices before all others. Without recursion.

use std::collections::HashMap;

use crate::json::{Index, ROOT, Shape, Text, Tree, inside, push_name};
use crate::order;

/// The containers around a string.
pub(super) struct Path<'v> {
    tree: &'v Tree<'v>,
    levels: &'v [Level],
}

/// A container that is being walked.
struct Level {
    container: Index,
    /// Its current member, and the number of that one from 1.
    member: Index,
    count: usize,
    /// Its members in the order of JavaScript. Empty if that is their own order.
    ordered: Vec<Index>,
}

/// Calls `take` with the text between the quotes of each string.
pub(super) fn each_string(tree: &Tree<'_>, mut take: impl FnMut(&str, &Path<'_>)) {
    let (mut levels, mut at) = (Vec::<Level>::new(), ROOT);
    loop {
        match tree.shape(at) {
            Shape::Object => {
                levels.push(Level { container: at, member: at, count: 0, ordered: in_order(tree, at) });
            }
            Shape::Array => levels.push(Level { container: at, member: at, count: 0, ordered: Vec::new() }),
            Shape::String => take(inside(tree.text(at)), &Path { tree, levels: &levels }),
            _ => {}
        }
        at = loop {
            match levels.last_mut() {
                None => return,
                Some(level) => match level.next(tree) {
                    Some(member) => break member,
                    None => drop(levels.pop()),
                },
            }
        };
    }
}

impl Level {
    fn next(&mut self, tree: &Tree<'_>) -> Option<Index> {
        if self.count > 0 {
            self.count += tree.joined(self.member);
        }
        self.member = match self.count {
            count if !self.ordered.is_empty() => *self.ordered.get(count)?,
            0 => tree.children(self.container).next()?,
            _ => tree.next_sibling(self.container, self.member)?,
        };
        self.count += 1;
        Some(self.member)
    }
}

/// The members of an object that remain, in the order of JavaScript. Empty if that is their own order.
fn in_order(tree: &Tree<'_>, object: Index) -> Vec<Index> {
    let index = |member: Index| index_of(tree.key(member).as_json());
    if !tree.children(object).any(|member| tree.mark(member) || index(member).is_some()) {
        return Vec::new();
    }
    let mut first: HashMap<Text<'_>, usize> = HashMap::new();
    let mut remaining: Vec<Index> = Vec::new();
    for member in tree.children(object) {
        let place = *first.entry(tree.key(member)).or_insert(remaining.len());
        match remaining.get_mut(place) {
            Some(earlier) => *earlier = member,
            None => remaining.push(member),
        }
    }
    // Stable: keys that are no indices keep their order.
    let rank = |&member: &Index| index(member).map_or((true, 0), |index| (false, index));
    order::sort_by(&mut remaining, |one, other| rank(one).cmp(&rank(other)));
    remaining
}

/// The index that a key is: an integer below 2^32 - 1 in its usual notation.
fn index_of(key: &str) -> Option<u32> {
    if key.is_empty() || (key.len() > 1 && key.starts_with('0')) || !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    key.parse().ok().filter(|index| *index < u32::MAX)
}

impl Path<'_> {
    /// Appends the path as a JSON pointer.
    pub(super) fn append_pointer(&self, pointer: &mut String) {
        for Level { member, count, .. } in self.levels {
            if self.tree.is_member(*member) {
                push_name(pointer, self.tree.key(*member).as_json());
            } else {
                push_name(pointer, &(count - 1).to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::SpareTree;

    fn strings(json: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_string(&of_strings(json), |text, path| {
            let mut pointer = String::new();
            path.append_pointer(&mut pointer);
            found.push(format!("{pointer}={text}"));
        });
        found
    }

    fn of_strings(json: &str) -> Tree<'_> {
        Tree::of_strings(&mut SpareTree::default(), json.into()).unwrap()
    }

    #[test]
    fn numbers_in_arrays_take_no_memory_and_keep_their_places() {
        let numbers = vec!["1"; 100_000].join(",");
        let json =
            format!(r#"{{"a":[{numbers},"x",null,true,[2,3,"y"],4,{{"b":5,"c":"z"}},6,7,"w"],"d":[[8],9,"v"]}}"#);
        assert!(of_strings(&json).count() < 30);
        assert_eq!(strings(&json), ["/a/100000=x", "/a/100003/2=y", "/a/100005/c=z", "/a/100008=w", "/d/2=v"]);
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
        each_string(&Tree::of(json.into()).unwrap(), |_, _| found += 1);
        assert_eq!(found, 1);
    }
}
