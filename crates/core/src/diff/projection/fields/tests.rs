use super::*;
use crate::diff::projection::equal::same_place;
use crate::diff::projection::mark::{Reference, Tree};
use proptest::prelude::*;
use serde_json::Value;

fn found(left: &Tree<'_>, right: &Tree<'_>) -> Vec<Field> {
    fields(&Pair { left, right, same_reference: &same_place }, true)
}

fn of(left: &str, right: &str) -> Vec<Field> {
    found(&Tree::of(left.into()).unwrap(), &Tree::of(right.into()).unwrap())
}

fn shown(left: &str, right: &str) -> Vec<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or("-".into());
    of(left, right)
        .iter()
        .map(|field| format!("{} {} {}", field.path, value(&field.left), value(&field.right)))
        .collect()
}

#[test]
fn each_difference_has_its_path() {
    let left = r#"{"a":1,"b":{"c":[1,2,{"d":"x"}],"~/":true},"e":null}"#;
    let right = r#"{"e":0,"b":{"c":[1,3,{"d":"y"},4,[5]],"~/":false,"n":{}},"a":1.0}"#;
    let expected = [
        "/b/c/1 2 3",
        r#"/b/c/2/d "x" "y""#,
        "/b/c/3 - 4",
        "/b/c/4 - [5]",
        "/b/~0~1 true false",
        "/b/n - {}",
        "/e null 0",
    ];
    assert_eq!(shown(left, right), expected);
    assert_eq!(shown("[1,2,3]", "[1]"), ["/1 2 -", "/2 3 -"]);
    assert_eq!(shown("[1]", "{}"), [" [1] {}"]);
    assert_eq!(shown("{\"a\":[]}", "{\"a\":[]}"), Vec::<String>::new());
}

#[test]
fn integers_beyond_double_precision_differ_as_digits() {
    let found = of(r#"{"id":9007199254740993}"#, r#"{"id":9007199254740992}"#);
    let field = Field {
        path: "/id".to_owned(),
        left: Some("\"9007199254740993\"".to_owned()),
        right: Some("\"9007199254740992\"".to_owned()),
        note: Some(Note::Precision),
    };
    assert_eq!(found, [field]);
    assert_eq!(shown("9007199254740993", "1"), [" 9007199254740993 1"]);
}

#[test]
fn notes_explain_differences_that_values_do_not_show() {
    let note = |left: &str, right: &str| of(left, right)[0].note;
    assert_eq!(note(r#""a b ""#, r#""a\n b""#), Some(Note::Whitespace));
    assert_eq!(note(r#""\ud800""#, r#""\ud801""#), None);
    assert_eq!(note(r#""a b""#, r#""a c""#), None);
    assert_eq!(note(r#""key [redacted:aws] and [redacted:x].""#, r#""key AK1 and 2.""#), Some(Note::Redacted));
    assert_eq!(note(r#""key AK1!""#, r#""key [redacted:aws]""#), Some(Note::Redacted));
    assert_eq!(note(r#""key AK1!""#, r#""key [redacted:aws].""#), None);
    assert_eq!(note(r#""ke AK1""#, r#""key [redacted:aws]""#), None);
    let (mut left, mut right) = (Tree::of("[5]".into()).unwrap(), Tree::of("[5]".into()).unwrap());
    left.set_mark(1, Mark::Refers(Some(Reference { place: 1, part: 0 })));
    right.set_mark(1, Mark::Refers(Some(Reference { place: 2, part: 0 })));
    assert_eq!(found(&left, &right)[0].note, Some(Note::OtherPlace));
}

#[test]
fn comparison_takes_memory_proportional_to_the_text() {
    let deep = |n: &str| format!("{}{n}{}", "[0,".repeat(100_000), "]".repeat(100_000));
    let told = of(&deep("1"), &deep("2"));
    assert_eq!((told.len(), told[0].path.len()), (1, 2 * DEEPEST));
    let every = |n: &str| format!("{}{n}{}", format!("[{n},").repeat(3000), "]".repeat(3000));
    let told = of(&every("1"), &every("2"));
    assert_eq!(told.len(), DEEPEST + 1);
    let key = "k".repeat(1 << 20);
    let wide = |n: usize| format!("{{\"{key}\":{:?}}}", (n..n + 5000).collect::<Vec<_>>());
    let told = of(&wide(0), &wide(1));
    assert!(told.iter().map(|field| field.path.len()).sum::<usize>() <= PATH_BYTES, "{}", told.len());
    let huge = format!("\"{}\"", "x".repeat(SHOWN_BYTES));
    let told = of(&format!("[{huge}]"), "[1]");
    assert_eq!(
        (told[0].left.as_deref(), told[0].right.as_deref(), told[0].note),
        (None, Some("1"), Some(Note::TooLarge))
    );
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), (0i32..4).prop_map(Value::from), "[a-c~/é\"]{0,3}".prop_map(Value::from)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Replaces the left value of a field by the right one.
fn patch(value: &mut Value, field: &Field) {
    let right = field.right.as_ref().map(|right| serde_json::from_str(right).unwrap());
    if field.path.is_empty() {
        *value = right.unwrap();
        return;
    }
    let (parent, last) = field.path.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/").replace("~0", "~");
    match (value.pointer_mut(parent).unwrap(), right) {
        (Value::Object(members), Some(right)) => drop(members.insert(last, right)),
        (Value::Object(members), None) => drop(members.remove(&last)),
        (Value::Array(elements), Some(right)) => match elements.get_mut(last.parse::<usize>().unwrap()) {
            Some(element) => *element = right,
            None => elements.push(right),
        },
        (Value::Array(elements), None) => elements.truncate(last.parse().unwrap()),
        _ => panic!("{} leads nowhere", field.path),
    }
}

proptest! {
    #[test]
    fn applying_the_differences_to_the_left_gives_the_right(left in json(), right in json()) {
        let told = of(&left.to_string(), &right.to_string());
        let mut mended = left.clone();
        // Array tails are removed from the end, so that the other indices stay valid.
        let (gone, rest): (Vec<_>, Vec<_>) = told.iter().partition(|field| field.right.is_none());
        rest.iter().for_each(|field| patch(&mut mended, field));
        gone.iter().rev().for_each(|field| patch(&mut mended, field));
        prop_assert_eq!(&mended, &right);
        prop_assert_eq!(told.is_empty(), left == right);
    }
}
