use super::*;
use proptest::prelude::*;

/// A value as a reader of the tape builds it: strings in UTF-16, members in their order.
#[derive(Clone, Debug, PartialEq)]
enum Built {
    Object(Vec<(Vec<u16>, Built)>),
    Array(Vec<Built>),
    String(Vec<u16>),
    Number(u64),
    Word(&'static str),
    Json(Vec<u8>),
}

/// A second tape reader, independent of the one in JavaScript.
struct Reader<'a> {
    tape: &'a Tape,
    /// The keys of each shape.
    shapes: Vec<Vec<Vec<u16>>>,
    codes: std::slice::Iter<'a, i32>,
    narrow: &'a [u8],
    wide: &'a [u16],
}

impl<'a> Reader<'a> {
    fn all(TapeBuilder { tape, shapes, .. }: &'a TapeBuilder) -> Vec<Built> {
        assert!(tape.codes.len() <= MAX_CODES);
        let mut keys = vec![Vec::new()];
        for (extended, key) in shapes.list().iter() {
            let last = session_tape_core::json::decode(key).collect();
            keys.push([&keys[extended as usize][..], &[last]].concat());
        }
        let mut reader =
            Reader { tape, shapes: keys, codes: tape.codes.iter(), narrow: &tape.narrow, wide: &tape.wide };
        let values = (0..tape.count).map(|_| reader.value()).collect();
        assert_eq!((reader.codes.len(), reader.narrow.len(), reader.wide.len()), (0, 0, 0), "something is left");
        values
    }

    fn name(&self, index: i32) -> Vec<u16> {
        session_tape_core::json::decode(self.tape.name(index as usize)).collect()
    }

    fn value(&mut self) -> Built {
        let code = *self.codes.next().unwrap();
        let (kind, number) = (code & 15, code >> 4);
        let is = |kind_of: Code| kind == kind_of as i32;
        if is(Code::Object) {
            let keys = self.shapes[number as usize].clone();
            Built::Object(keys.into_iter().map(|key| (key, self.value())).collect())
        } else if is(Code::Array) {
            Built::Array((0..number).map(|_| self.value()).collect())
        } else if is(Code::Narrow) {
            let (text, rest) = self.narrow.split_at(number as usize);
            self.narrow = rest;
            Built::String(text.iter().map(|byte| u16::from(*byte)).collect())
        } else if is(Code::Wide) {
            let (text, rest) = self.wide.split_at(number as usize);
            self.wide = rest;
            Built::String(text.to_vec())
        } else if is(Code::Name) {
            Built::String(self.name(number))
        } else if is(Code::Text) || is(Code::Json) {
            match &self.tape.texts[number as usize] {
                OwnText::Narrow(text) => Built::String(text.units().iter().map(|byte| u16::from(*byte)).collect()),
                OwnText::Wide(text) => Built::String(text.units().to_vec()),
                OwnText::Json(json) => Built::Json(json.clone()),
            }
        } else if is(Code::Integer) {
            Built::Number(f64::from(number).to_bits())
        } else if is(Code::Number) {
            let halves = [*self.codes.next().unwrap(), *self.codes.next().unwrap()].map(i32::to_ne_bytes);
            Built::Number(f64::from_ne_bytes(halves.concat().try_into().unwrap()).to_bits())
        } else {
            Built::Word(["true", "false", "null"][(kind - Code::True as i32) as usize])
        }
    }
}

fn laid_out(values: &[&[u8]]) -> TapeBuilder {
    let mut builder = TapeBuilder::default();
    for json in values {
        assert!(builder.push(json));
    }
    builder
}

fn built(json: &str) -> Built {
    Reader::all(&laid_out(&[json.as_bytes()])).remove(0)
}

/// Whether two values are the same. In `found`, an array of numbers may still be JSON text.
fn same(found: &Built, expected: &Built) -> bool {
    match (found, expected) {
        (Built::Json(json), Built::Array(expected)) => {
            let found: Vec<f64> = serde_json::from_slice(json).unwrap();
            let near = |(found, expected): (&f64, &Built)| {
                let Built::Number(bits) = expected else { return false };
                (found - f64::from_bits(*bits)).abs() <= found.abs() * 1e-15
            };
            found.len() == expected.len() && found.iter().zip(expected).all(near)
        }
        (Built::Array(found), Built::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
        }
        (Built::Object(found), Built::Object(expected)) => {
            let members = found.iter().zip(expected);
            found.len() == expected.len()
                && members.clone().all(|((key, _), (expected, _))| key == expected)
                && members.clone().all(|((_, found), (_, expected))| same(found, expected))
        }
        _ => found == expected,
    }
}

fn string(text: &str) -> Built {
    Built::String(text.encode_utf16().collect())
}

/// A value, and how a file might spell it.
fn spelled() -> impl Strategy<Value = (Built, String)> {
    let scalar = prop_oneof![
        any::<i32>().prop_map(|n| (Built::Number(f64::from(n).to_bits()), n.to_string())),
        (-1000..1000_i32).prop_map(|n| (Built::Number(f64::from(n).to_bits()), n.to_string())),
        any::<f64>()
            .prop_filter("JSON has no others", |n| n.is_finite())
            .prop_map(|n| (Built::Number(n.to_bits()), format!("{n:e}"))),
        prop::sample::select(vec!["true", "false", "null"]).prop_map(|word| (Built::Word(word), word.to_owned())),
        text().prop_map(|(units, json)| (Built::String(units), json)),
    ];
    // Miri would take an hour for a case of the usual size.
    let (depth, size) = if cfg!(miri) { (2, 6) } else { (6, 60) };
    scalar.prop_recursive(depth, size, 6, |value| {
        let key = text().prop_filter("such objects are left as they are", |(_, json)| {
            json.len() < 400 && !matches!(json.as_bytes(), [b'"', b'0'..=b'9' | b'\\', ..])
        });
        let members = prop::collection::vec((key, value.clone()), 0..6);
        prop_oneof![prop::collection::vec(value, 0..6).prop_map(array_of), members.prop_map(object_of)]
    })
}

fn array_of(values: Vec<(Built, String)>) -> (Built, String) {
    let (values, texts): (Vec<_>, Vec<_>) = values.into_iter().unzip();
    (Built::Array(values), format!("[ {} ]", texts.join("\t,")))
}

type Spelled<T> = (T, String);

fn object_of(members: Vec<(Spelled<Vec<u16>>, Spelled<Built>)>) -> Spelled<Built> {
    let texts: Vec<_> = members.iter().map(|((_, key), (_, value))| format!("{key} :\r{value}")).collect();
    let members = members.into_iter().map(|((key, _), (value, _))| (key, value)).collect();
    (Built::Object(members), format!("{{ {}}}", texts.join(" ,")))
}

/// A string of any kind of characters and length, some of them escaped.
fn text() -> impl Strategy<Value = (Vec<u16>, String)> {
    let character = prop_oneof![
        8 => prop::char::range(' ', '~'),
        1 => prop::char::range('\0', '\u{ff}'),
        1 => any::<char>(),
    ];
    let unit = prop_oneof![6 => (character, prop::bool::weighted(0.1)).prop_map(spelled_character), 1 => Just((vec![0xd800], "\\ud800".to_owned()))];
    let units = prop_oneof![
        4 => prop::collection::vec(unit.clone(), 0..14),
        2 => prop::collection::vec(unit.clone(), 40..90),
        // Repeated until it is long enough for a text of its own.
        1 => prop::collection::vec(unit, 60..70).prop_map(|units| vec![units; if cfg!(miri) { 2 } else { 100 }].concat()),
    ];
    units.prop_map(|units| {
        let (units, texts): (Vec<_>, Vec<_>) = units.into_iter().unzip();
        (units.concat(), format!("\"{}\"", texts.concat()))
    })
}

fn spelled_character((c, escaped): (char, bool)) -> (Vec<u16>, String) {
    let units = c.encode_utf16(&mut [0; 2]).to_vec();
    let escape = || units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    let text = match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        c if escaped || c < ' ' => escape(),
        c => c.to_string(),
    };
    (units, text)
}

proptest! {
    #[test]
    fn tape_round_trips_values(values in prop::collection::vec(spelled(), 0..5)) {
        let (expected, texts): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        let texts: Vec<_> = texts.iter().map(String::as_bytes).collect();
        let found = Reader::all(&laid_out(&texts));
        prop_assert!(same(&Built::Array(found), &Built::Array(expected)));
    }

    #[test]
    fn invalid_json_is_not_laid_out(mut json in spelled().prop_map(|(_, json)| json.into_bytes()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(json.len());
        json[at] = byte;
        let left = Reader::all(&laid_out(&[&json, b"1"]));
        let parses = {
            let mut cursor = Cursor::new(&json);
            cursor.white_space();
            cursor.value(&mut Nesting::default()).and_then(|_| cursor.finish()).is_ok()
        };
        prop_assert!(parses || left[0] == Built::Json(json));
        prop_assert_eq!(&left[1], &Built::Number(1_f64.to_bits()));
    }
}

#[test]
fn numbers_are_read_as_javascript_reads_them() {
    for (json, value) in [
        ("-0", -0.0),
        ("0", 0.0),
        ("1e999", f64::INFINITY),
        ("-1e999", f64::NEG_INFINITY),
        ("9999999", 9_999_999.0),
        ("-999999", -999_999.0),
        ("134217728", 134_217_728.0),
        ("9007199254740993", 9_007_199_254_740_992.0),
        ("1e-400", 0.0),
        ("5e-324", 5e-324),
        ("1.5", 1.5),
    ] {
        assert_eq!(built(json), Built::Number(value.to_bits()), "{json}");
    }
}

#[test]
fn invalid_utf8_becomes_replacement_characters() {
    let short = Reader::all(&laid_out(&[b"\"a\xff\"", b"{\"\xe2\x82\":1}"]));
    let key: Vec<u16> = vec![0xfffd];
    assert_eq!(short, [string("a\u{fffd}"), Built::Object(vec![(key, Built::Number(1_f64.to_bits()))])]);
    let long = [b"\"", &b"x".repeat(50)[..], b"\xc3\""].concat();
    assert_eq!(Reader::all(&laid_out(&[&long])), [string(&format!("{}\u{fffd}", "x".repeat(50)))]);
}

#[test]
fn repeated_strings_become_names() {
    let few = ["\"tool\""; FEW as usize].join(",");
    let tape = laid_out(&[format!("[{few},\"tool\",\"tool\"]").as_bytes(), br#"{"tool":"id-1"}"#]).tape;
    assert_eq!(tape.names, b"tool");
    assert_eq!(tape.narrow, [&b"tool".repeat(FEW as usize)[..], b"id-1"].concat());
}

#[test]
fn unsuitable_objects_are_left_to_json_parse() {
    let members = |count| (0..count).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",");
    let long_key = "k".repeat(MAX_KEY + 1);
    for object in [
        r#"{"a":{"b":"c"},"7":1}"#.to_owned(),
        r#"{"\u0037":"c"}"#.to_owned(),
        r#"{"1\u0030":"c"}"#.to_owned(),
        format!("{{{}}}", members(MAX_MEMBERS + 1)),
        format!("{{\"{long_key}\":1}}"),
    ] {
        let json = format!(r#"["before",{object},"{}"]"#, "behind".repeat(20));
        let Built::Array(values) = built(&json) else { panic!("{json}") };
        assert_eq!(values, [string("before"), Built::Json(object.into_bytes()), string(&"behind".repeat(20))]);
    }
    assert_eq!(built("[1,[2,0.5]]"), Built::Array(vec![built("1"), Built::Json(b"[2,0.5]".to_vec())]));
    assert!(matches!(built(r#"[1,0.5,"a"]"#), Built::Array(_)) && matches!(built("[1,2]"), Built::Array(_)));
    for object in [r#"{"7a":1}"#.to_owned(), format!("{{{}}}", members(MAX_MEMBERS))] {
        assert!(matches!(built(&object), Built::Object(_)), "{object}");
    }
    assert_eq!(Reader::all(&laid_out(&[br#"{"7":1,}"#])), [Built::Json(br#"{"7":1,}"#.to_vec())]);
}

#[test]
fn pools_are_bounded() {
    let strings = vec![format!("\"{}\"", "x".repeat(OWN_TEXT - 1)); 200].join(",");
    let tape = laid_out(&[format!("[{strings}]").as_bytes()]).tape;
    assert!(tape.narrow.len() <= POOL_BYTES + OWN_TEXT);
    assert_eq!(tape.narrow.len() / (OWN_TEXT - 1) + tape.texts.len(), 200);
}

/// Otherwise most of what follows would not fit either: the values would be on one tape with many texts that are copied, instead of on two with none.
#[test]
fn string_that_fills_a_pool_is_kept_in_it() {
    for text in ["é", "名"].map(|first| format!("\"{first}{}\"", "x".repeat(1000))) {
        let mut builder = TapeBuilder::default();
        for _ in 0..POOL_BYTES / 1000 {
            assert!(builder.has_full_pools() || builder.push(text.as_bytes()));
        }
        assert!(builder.has_full_pools() && builder.tape.texts.is_empty());
    }
}

#[test]
fn values_pushed_apart_use_no_pool() {
    let hash = "0123456789abcdef".repeat(8);
    let mut builder = TapeBuilder::default();
    builder.push(format!("\"{hash}\"").as_bytes());
    assert!(builder.push_apart(format!("[\"{hash}\",\"名{hash}\"]").as_bytes()));
    builder.push(format!("\"{hash}\"").as_bytes());
    let tape = &builder.tape;
    assert_eq!((tape.narrow.len(), tape.wide.len(), tape.texts.len()), (2 * hash.len(), 0, 2));
    assert_eq!(Reader::all(&builder)[1], Built::Array(vec![string(&hash), string(&format!("名{hash}"))]));
}

#[test]
fn huge_string_does_not_enlarge_the_pool() {
    let huge = format!("é\\n{}", "x".repeat(SPARE_BYTES + 1));
    for json in
        [format!(r#"{{"text":"{huge}","wide":"{huge}名","id":"a"}}"#), format!(r#"["{huge}"#), format!(r#"["{huge}名"#)]
    {
        let TapeBuilder { tape, .. } = laid_out(&[json.as_bytes()]);
        let strings = tape.texts.iter().filter(|text| !matches!(text, OwnText::Json(_))).count();
        assert_eq!((strings, &tape.narrow[..]), if json.starts_with('{') { (2, &b"a"[..]) } else { (0, &b""[..]) });
        assert!(tape.narrow.capacity() <= SPARE_BYTES && tape.wide.capacity() <= SPARE_BYTES);
    }
}

#[test]
fn huge_string_does_not_change_its_neighbours() {
    let (narrow, wide) = ("\"é\n".repeat(20), "名\"…".repeat(20));
    let huge = format!("\n{}", "x".repeat(SPARE_BYTES));
    let strings = [&narrow, &wide, &huge, "id", &format!("{huge}名"), &wide, &narrow];
    let units = |text: &&str| Built::String(text.encode_utf16().collect());
    assert_eq!(built(&serde_json::to_string(&strings).unwrap()), Built::Array(strings.iter().map(units).collect()));
}

#[test]
fn short_multi_line_text_is_not_a_name() {
    let TapeBuilder { tape, .. } = laid_out(&[br#"["a text\nof two lines","an id\"of one line"]"#]);
    assert_eq!((&tape.narrow[..], &tape.names[..]), (&b"a text\nof two lines"[..], &br#"an id\"of one line"#[..]));
}

#[test]
fn long_texts_are_not_shared() {
    let long = "x".repeat(OWN_TEXT);
    let tape = laid_out(&[format!("[\"{long}\",\"{}\"]", "y".repeat(70)).as_bytes()]).tape;
    assert!(matches!(&tape.texts[..], [OwnText::Narrow(text)] if text.units() == long.as_bytes()));
    assert_eq!(tape.narrow, "y".repeat(70).into_bytes());
}

#[test]
fn an_item_without_room_takes_none_from_the_texts_behind_it() {
    let (text, many) = ("x".repeat(1 << 20), vec!["1"; MAX_CODES * 2 / 3].join(","));
    let mut builder = TapeBuilder::default();
    assert!(builder.push(format!("[\"{text}\",\"{text}\",{many}]").as_bytes()));
    let place = |builder: &TapeBuilder| match builder.tape.texts.last() {
        Some(OwnText::Narrow(Text::Shared(shared))) => shared.units().as_ptr(),
        _ => panic!("a long text is in a chunk"),
    };
    // There is no room for it on this tape. The next text must get the memory that its texts had.
    let item = format!("[\"{text}\",\"{}\",{many}]", &text[..OWN_TEXT]);
    let mut places = Vec::new();
    for _ in 0..3 {
        assert!(!builder.push(item.as_bytes()));
        assert!(builder.push(format!("\"{}\"", &text[..OWN_TEXT]).as_bytes()));
        places.push(place(&builder));
    }
    assert_eq!(places[1] as usize - places[0] as usize, OWN_TEXT);
    assert_eq!(places[2] as usize - places[1] as usize, OWN_TEXT);
    assert!(Reader::all(&builder).iter().skip(1).all(|value| *value == string(&text[..OWN_TEXT])));
}

#[test]
fn lack_of_room_is_reported_and_changes_nothing() {
    let many = format!("[{}]", vec!["1"; MAX_CODES * 2 / 3].join(","));
    let mut builder = TapeBuilder::default();
    assert!(builder.push(b"{\"a\":\"text\"}"));
    assert!(builder.push(many.as_bytes()));
    let before = builder.mark();
    assert!(!builder.push(format!("[\"b\",\"b\",{many}]").as_bytes()));
    assert_eq!(builder.mark(), before);
    assert!(builder.push(b"[\"b\",\"b\"]"));
    let values = Reader::all(&builder);
    assert_eq!((values.len(), &values[2]), (3, &Built::Array(vec![string("b"), string("b")])));
}

#[test]
fn oversized_or_deep_values_are_left_as_json() {
    let many = format!("[{}]", vec!["1"; MAX_CODES].join(","));
    let deep = format!("{}1{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    for json in [many, deep] {
        assert_eq!(built(&json), Built::Json(json.into_bytes()));
    }
    let deepest = format!("{}1{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(matches!(built(&deepest), Built::Array(_)));
    assert_eq!(built(" 1 "), Built::Number(1_f64.to_bits()));
}

#[test]
fn codes_are_never_more_than_there_is_room_for() {
    for spare in 0..6 {
        let filling = format!("[{}]", vec!["1"; MAX_CODES - 4 - spare].join(","));
        let mut builder = TapeBuilder::default();
        builder.push(filling.as_bytes());
        while builder.push(b"{\"a\":0.5}") {}
        while builder.push(b"{}") {}
        Reader::all(&builder);
    }
}

proptest! {
    /// An object is taken exactly if the scanner finds one, with the same members and the same value, unless it is left to a JSON parser.
    #[test]
    fn an_object_is_taken_as_the_scanner_finds_it(
        json in any_object(), garbage in prop::collection::vec(any::<u8>(), 0..3), at in any::<prop::sample::Index>(),
    ) {
        let mut text = json.into_bytes();
        let at = at.index(text.len() + 1);
        text.splice(at..(at + garbage.len() / 2).min(text.len()), garbage);
        let (mut builder, mut cursor) = (TapeBuilder::default(), Cursor::new(&text));
        let (mut members, mut expected) = (Vec::new(), Vec::new());
        let taken = builder.push_object(&mut cursor, |key, value| members.push((key.to_vec(), value)));
        let (mut scanner, mut nesting) = (Cursor::new(&text), Nesting::default());
        let scanned = scanner.object(|cursor, key| {
            expected.push((key.to_vec(), cursor.value(&mut nesting)?));
            Ok(())
        });
        match (taken, scanned) {
            (true, scanned) => {
                let scanned = scanned.unwrap();
                prop_assert_eq!((cursor.position(), members), (scanned.end as usize, expected));
                prop_assert_eq!(Reader::all(&builder), Reader::all(&laid_out(&[scanned.of(&text)])));
            }
            (false, Ok(span)) => {
                let whole = Reader::all(&laid_out(&[span.of(&text)])).remove(0);
                prop_assert!(matches!(whole, Built::Json(_)), "refused for no reason: {whole:?}");
            }
            (false, Err(_)) => {}
        }
        if !taken {
            prop_assert_eq!((cursor.position(), builder.count(), &builder.tape.codes[..]), (0, 0, &[][..]));
        }
    }
}

/// Objects, some with members that are left to a JSON parser.
fn any_object() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        4 => spelled().prop_map(|(_, json)| format!(r#""key":{json}"#)),
        1 => prop::sample::select(vec![r#""a":{"1":2}"#, r#""speaker":{"\\u0061":[{"2":[]}]}"#, r#""b":[0.5,1]"#, r#""3":4"#]).prop_map(str::to_owned),
    ];
    prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")))
}
