use proptest::prelude::*;

use super::*;
use crate::diff::projection::equal::{Pair, same_place};
use crate::json::ROOT;

/// Short values of few kinds, so that two of them are often equal.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        prop_oneof![Just("1"), Just("1.0"), Just("-0"), Just("0"), Just("1e999"), Just("2e999"), big_integer()]
            .prop_map(str::to_owned),
        prop_oneof![Just(r#""a""#), Just(r#""\u0061""#), Just(r#""\n""#), Just(r#""\u000a""#), Just(r#""1""#)]
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof![Just(r#""a""#), Just(r#""\u0061""#), Just(r#""b""#), Just(r#""""#)];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|list| format!("[{}]", list.join(","))),
            proptest::collection::vec((key, inner), 0..4).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}}}", members.join(" ,"))
            }),
        ]
    })
}

/// Integers of which several are the same double.
fn big_integer() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("9007199254740992"),
        Just("9007199254740993"),
        Just("-9007199254740993"),
        Just("9007199254740992.0"),
        Just("9007199254740993.0"),
        Just("90071992547409930e-1"),
        Just("9007199254740992E0"),
        Just("1e23"),
        Just("100000000000000000000000"),
    ]
}

fn marked(json: &str, marks: &[(usize, u8)]) -> Tree<'static> {
    let mut tree = Tree::of(json.to_owned().into()).unwrap();
    for &(at, sort) in marks {
        let index = (at % tree.count()) as Index;
        let reference = Reference { place: i64::from(sort), part: 0 };
        // A member that a later one with the same key replaces stays dropped.
        if tree.mark(index) == Mark::Dropped {
            continue;
        }
        // Only members are dropped: equality of arrays ignores an element that is dropped on either side, which a
        // digest can't know.
        match (sort, tree.shape(index)) {
            (1, Shape::Array) => tree.set_mark(index, Mark::Set),
            (2 | 3, _) if index != ROOT => tree.set_mark(index, Mark::Refers(Some(reference))),
            (4, _) if index != ROOT => tree.set_mark(index, Mark::Refers(None)),
            _ => {}
        }
    }
    tree
}

fn says(tree: &Tree<'_>) -> (u128, Vec<Option<Reference>>) {
    let mut references = Vec::new();
    (Digester::default().digest(tree, &mut references), references)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn values_have_the_same_digest_if_and_only_if_they_mean_the_same(
        left in any_json(),
        right in any_json(),
        marks in proptest::collection::vec((0usize..8, 0u8..5), 0..2),
    ) {
        for right in [&left, &right] {
            let (left, right) = (marked(&left, &marks), marked(right, &marks));
            let are_equal = Pair { left: &left, right: &right, same_reference: &same_place }.are_equal(ROOT, ROOT);
            prop_assert_eq!(says(&left) == says(&right), are_equal);
        }
    }
}

#[test]
fn ignored_members_count_as_absent() {
    let with = |json: &str| {
        let mut tree = Tree::of(json.to_owned().into()).unwrap();
        if let Some(dropped) = tree.at(&["x"]) {
            tree.set_mark(dropped, Mark::Dropped);
        }
        says(&tree)
    };
    assert_eq!(with(r#"{"a":1,"x":[2]}"#), with(r#"{"a":1}"#));
    assert_eq!(with(r#"{"x":3,"a":1}"#), with(r#"{"a":1,"x":null}"#));
    assert_ne!(with(r#"{"a":1,"x":[2]}"#), with(r#"{"x":[2]}"#));
}
