use super::*;

const ID: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn object() -> String {
    format!(
        r#"{{"contentId":"{ID}","mimeType":"image/png","byteLength":4,"normalizedBase64Length":8,"dimensions":{{"width":3,"height":2}}}}"#
    )
}

fn reference() -> String {
    let object = object();
    let own = object.strip_prefix('{').unwrap();
    format!(
        r#"{{"type":"media","encoding":"reference","originalContentId":"{ID}","selectedContentId":"{ID}","originalObject":{object},"selectedObject":{object},{own}"#
    )
}

#[test]
fn a_reference_is_found_at_any_depth() {
    for depth in [0, 1, 200_000] {
        let payload = format!("{}{}{}", "{\"a\":[".repeat(depth), reference(), "]}".repeat(depth));
        assert!(has_reference(payload.as_bytes()), "{depth}");
    }
}

#[test]
fn what_is_nested_deeper_than_a_million_levels_has_none() {
    for (depth, has_one) in [((1 << 19) - 2, true), (1 << 19, false)] {
        let payload = format!("{}{}{}", "{\"a\":[".repeat(depth), reference(), "]}".repeat(depth));
        assert_eq!(has_reference(payload.as_bytes()), has_one, "{depth}");
    }
}

#[test]
fn a_reference_inside_another_ones_object_takes_no_longer() {
    let mut nested = String::new();
    for _ in 0..20_000 {
        nested.push_str(r#"{"type":"media","encoding":"reference","originalObject":"#);
    }
    nested.push_str(&reference());
    nested.push_str(&"}".repeat(20_000));
    assert!(has_reference(nested.as_bytes()));
}

#[test]
fn a_text_that_is_no_json_has_no_reference() {
    let whole = reference();
    for end in 0..whole.len() {
        assert!(!has_reference(&whole.as_bytes()[..end]), "{end}");
    }
    assert!(!has_reference(br#""encoding":"reference""#));
}

#[test]
fn keys_and_values_may_be_escaped_and_the_last_of_two_counts() {
    let whole = reference();
    for (from, to, is_one) in [
        (r#""type":"media""#, r#""ty\u0070e":"\u006dedia""#, true),
        (r#""type":"media""#, r#""type":"text","type":"media""#, true),
        (r#""type":"media""#, r#""type":"media","type":"text""#, false),
        (r#""type":"media""#, r#""type":"media","da\u0074a":null"#, false),
        (
            r#""mimeType":"image/png","byteLength":4,"normalizedBase64Length":8,"dimensions":{"width":3,"height":2}}"#,
            r#""mimeType":"image\/png","byteLength":4e0,"normalizedBase64Length":8.0,"dimensions":{"height":2,"width":30e-1}}"#,
            true,
        ),
    ] {
        let changed = whole.replace(from, to);
        assert_ne!(changed, whole);
        assert_eq!(has_reference(changed.as_bytes()), is_one, "{to}");
    }
}

#[test]
fn references_of_a_record_have_their_places_and_objects() {
    let one = reference();
    let line = format!(r#"{{"v":2,"payload":[{one}],"seq":7,"payload":{{"a":[{one},1,{one}]}}}}"#);
    let record = RecordReferences::of_line(line.as_bytes()).unwrap();
    assert_eq!(record.seq, Some(7.0));
    assert_eq!(record.references.len(), 2, "of two payloads the last one counts");
    let places: Vec<_> = reference_places(line.as_bytes()).into_iter().map(|place| &line[place]).collect();
    assert_eq!(places, [&one, &one, &one], "in both payloads");
    for Reference { original, selected, .. } in &record.references {
        assert_eq!(
            (original.id(), selected.byte_length(), selected.mime_type()),
            (ID.to_owned(), 4, &b"image/png"[..])
        );
    }
    assert!(RecordReferences::of_line(one.as_bytes()).is_none(), "not in a payload");
    assert!(RecordReferences::of_line(format!(r#"{{"payload":{one}"#).as_bytes()).is_none(), "no JSON");
    assert!(RecordReferences::of_line(format!(r#"[{{"payload":{one}}}]"#).as_bytes()).is_none(), "no object");
}

#[test]
fn an_id_with_escapes_is_the_same_id() {
    let line = format!(r#"{{"payload":{}}}"#, reference().replace("sha256:0", "s\\u0068a256:\\u0030"));
    let record = RecordReferences::of_line(line.as_bytes()).unwrap();
    assert_eq!(record.references[0].original.id(), ID);
}

#[test]
fn each_object_is_named_once_with_the_first_line_that_does() {
    let other = ID.replace("sha256:0", "sha256:f");
    let larger = reference()
        .replace(r#""byteLength":4,"normalizedBase64Length":8"#, r#""byteLength":9,"normalizedBase64Length":12"#);
    let mut named = NamedObjects::default();
    for (number, block) in [(3, reference()), (5, reference().replace(ID, &other)), (7, larger), (9, reference())] {
        named.add_line(number, format!(r#"{{"payload":{block}}}"#).as_bytes());
    }
    let found: Vec<_> =
        named.each().map(|object| (id_of(&object.hash), object.bytes, object.line, object.contradicted)).collect();
    assert_eq!(found, [(ID.to_owned(), 4, 3, Some(7)), (other, 4, 5, None)]);
}

#[test]
fn no_writing_hides_that_a_text_may_have_a_reference() {
    for (text, may) in [
        (r#""encoding" : "reference""#, true),
        (r#""encoding":"\u0072eference""#, true),
        (r#""encoding":"referenc\u0065""#, true),
        (r#"a \"reference\" and \u001b[0m, \u00e9, \u4e2d"#, false),
        (r"\u00", false),
    ] {
        assert_eq!(could_have_reference(text.as_bytes()), may, "{text}");
    }
}
