use super::*;

fn found(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let step = |step: &Step<'_>| match step {
        Step::Key(key) => String::from_utf8_lossy(key).into_owned(),
        Step::Index(index) => index.to_string(),
    };
    let visited: Result<(), ()> = visit_parts(text.as_bytes(), |part, place, range| {
        let path: Vec<_> = place.path.iter().map(step).collect();
        found.push(format!("{part:?} /{} {}", path.join("/"), &text[range]));
        Ok(())
    });
    visited.unwrap();
    found
}

#[test]
fn every_string_comes_with_its_path() {
    let text = r#" {"a" : "x", "b":[1,"y",{"c":null,"d\"":"z"},[],"w"], "e":{} ,"f":-1.5e+3,"g":"" } "#;
    let expected = [
        "Key / a",
        "Text /a x",
        "Key / b",
        "Number /b/0 1",
        "Text /b/1 y",
        "Key /b/2 c",
        "Key /b/2 d\\\"",
        "Text /b/2/d\\\" z",
        "Text /b/4 w",
        "Key / e",
        "Key / f",
        "Number /f -1.5e+3",
        "Key / g",
        "Text /g ",
    ];
    assert_eq!(found(text), expected);
    assert_eq!(found("\"x\""), ["Text / x"]);
    assert_eq!(found("[\"a\",\"b\"]"), ["Text /0 a", "Text /1 b"]);
}

#[test]
fn deep_nesting_takes_no_stack_and_ends_the_path() {
    let text = format!("{}\"x\"{}", "[".repeat(200_000), "]".repeat(200_000));
    let mut seen = Vec::new();
    let visited: Result<(), ()> = visit_parts(text.as_bytes(), |_, place, _| {
        seen.push((place.path.len(), place.is_deep));
        Ok(())
    });
    assert_eq!((visited, seen), (Ok(()), vec![(MAX_STEPS, true)]));
    let text = format!("{}[],\"x\",\"y\"{}", "[".repeat(MAX_STEPS), "]".repeat(MAX_STEPS));
    assert!(found(&text)[1].ends_with("/2 y"));
}

#[test]
fn invalid_json_is_visited_without_panic() {
    for text in ["\"", "{\"a", "]]", "{,:", "", "tru", "{\"a\"}"] {
        found(text);
        assert!(!is_json(text.as_bytes()), "{text}");
    }
    assert!(is_json(b" [1] "));
}
