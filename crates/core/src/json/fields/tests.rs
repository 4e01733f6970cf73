use super::*;
use proptest::prelude::*;

fn one(json: &'static str) -> Field<'static> {
    let [field] = Field::read(json, names!["f"], &mut Nesting::default()).unwrap();
    field
}

#[test]
fn last_of_duplicate_keys_counts_however_spelled() {
    assert_eq!(one(r#"{"f":1,"f":2}"#).integer(), Ok(2));
    assert_eq!(one(r#"{"f":1,"\u0066":2}"#).integer(), Ok(2));
    assert_eq!(one(r#"{"\u0066":2,"f":1,"g":{"f":3}}"#).integer(), Ok(1));
    let members = one(r#"{"f":{"b":1,"a":2,"\u0062":3}}"#).members(&mut Nesting::default()).unwrap();
    let expected = [(Text::from_plain("a"), "2"), (Text::from_plain("b"), "3")];
    assert_eq!(members.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn rejects_text_that_is_not_one_object() {
    for text in ["", "null", "[]", "\"{}\"", "{", "{}x", " {}", "{} ", "{}{}", "{\"f\":1,}", "{\"f\":01}"] {
        assert_eq!(
            Field::read(text, names!["f"], &mut Nesting::default()).unwrap_err(),
            FieldError::NotAnObject,
            "{text:?}"
        );
    }
}

#[test]
fn accepts_integers_as_javascript_reads_them() {
    for (json, value) in [
        ("0", Some(0)),
        ("-0", Some(0)),
        ("17", Some(17)),
        ("1.0", Some(1)),
        ("1e3", Some(1000)),
        ("9007199254740991", Some(MAX_INTEGER)),
        ("9007199254740992", None),
        ("123456789012345678901234567890", None),
        ("-1", None),
        ("1.5", None),
        ("1e999", None),
        ("\"1\"", None),
        ("null", None),
        ("[1]", None),
    ] {
        assert_eq!(integer(json), value, "{json}");
    }
}

#[test]
fn rejects_values_of_another_type() {
    assert_eq!(one(r#"{"f":"a\u0062"}"#).id().unwrap().as_json(), "ab");
    assert_eq!(one(r#"{"f":""}"#).text().unwrap().as_json(), "");
    assert_eq!(one(r#"{"f":true}"#).boolean(), Ok(true));
    assert_eq!(one(r#"{"f":false}"#).boolean(), Ok(false));
    assert_eq!(one(r#"{"f":-1.5}"#).number(), Ok(-1.5));
    assert_eq!(one(r#"{"f":1.5}"#).amount(), Ok(1.5));
    assert!(one(r#"{"f":""}"#).id().is_err());
    assert!(one(r#"{"f":1}"#).text().is_err());
    assert!(one(r#"{"f":"true"}"#).boolean().is_err());
    assert!(one(r#"{"f":"1"}"#).number().is_err());
    assert!(one(r#"{"f":-1}"#).amount().is_err());
    assert!(one(r#"{"f":1e999}"#).amount().is_err());
}

#[test]
fn optional_fields_may_be_absent_or_null_but_not_of_another_type() {
    assert_eq!(one("{}").optional(Field::integer), Ok(None));
    assert_eq!(one(r#"{"f":null}"#).optional(Field::integer), Ok(None));
    assert_eq!(one(r#"{"f":1}"#).optional(Field::integer), Ok(Some(1)));
    assert!(one(r#"{"f":"1"}"#).optional(Field::integer).is_err());
    assert!(one(r#"{"f":null}"#).integer().is_err());
}

#[test]
fn arrays_are_read_element_by_element() {
    let mut nesting = Nesting::default();
    let set = one(r#"{"f":["b","a","\u0062"]}"#).id_set(&mut nesting).unwrap();
    assert_eq!(set, [Text::from_plain("a"), Text::from_plain("b")]);
    assert_eq!(one(r#"{"f":[ ]}"#).ids(&mut nesting).unwrap(), []);
    for json in [r#"{"f":[""]}"#, r#"{"f":[1]}"#, r#"{"f":{}}"#, r#"{"f":"a"}"#, r#"{"f":null}"#, "{}"] {
        assert!(one(json).ids(&mut nesting).is_err(), "{json}");
    }
}

#[test]
fn errors_name_the_path() {
    let error = one("{}").text().unwrap_err().within("workers[2]");
    assert_eq!(error.to_string(), "'workers[2].f' is missing");
    assert_eq!(one(r#"{"f":7}"#).id().unwrap_err().to_string(), "'f' must be a non-empty string");
    assert_eq!(FieldError::NotAnObject.within("workflow").to_string(), "'workflow' must be an object");
}

fn any_member() -> impl Strategy<Value = String> {
    let keys = ["task", "worker", "node", "t\\u0061sk", "tasks", "tas", ""];
    let values =
        ["\"a\"", "\"\"", "\"a\\n\"", "\"\\\"", "1", "1e3", "true", "null", "[1,{\"task\":2}]", "{}", "\"é\"", "x", ""];
    let blanks = prop::sample::select(vec!["", "", "", " ", "\n"]);
    (prop::sample::select(keys.to_vec()), prop::sample::select(values.to_vec()), blanks)
        .prop_map(|(key, value, blank)| format!("\"{key}\":{blank}{value}{blank}"))
}

proptest! {
    #[test]
    fn fast_path_agrees_with_the_general_reader(
        members in proptest::collection::vec(any_member(), 0..5), end in prop::sample::select(vec!["}", "}", "}", "", "}}", ",}"]),
    ) {
        let object = format!("{{{}{end}", members.join(","));
        let names = names!["task", "worker", "node"];
        let values = |fields: [Field<'_>; 3]| fields.map(|field| (field.value.map(str::to_owned), field.text().ok().map(Text::into_owned)));
        let found = Field::read(&object, names, &mut Nesting::default()).map(values);
        let mut fields = names.map(|name| Field { name: name.text, value: None, is_plain: false });
        let expected = read_any(&object, &mut fields, &mut Nesting::default()).map(|()| values(fields));
        prop_assert_eq!(found, expected);
    }
}
