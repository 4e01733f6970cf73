//! The text of JSON strings, as JavaScript sees it: UTF-16, bytes that are not UTF-8 replaced by U+FFFD.

use super::scan::copy_plain_ascii;

/// Whether a line is nothing but JavaScript white space (`String.prototype.trim` leaves nothing).
pub fn is_blank(line: &[u8]) -> bool {
    if line.iter().all(|b| matches!(b, b' ' | b'\t' | 0x0b | 0x0c | b'\r' | b'\n')) {
        return true;
    }
    std::str::from_utf8(line).is_ok_and(|text| text.chars().all(is_white_space))
}

/// Whether the string whose inside this is, escapes and all, is nothing but JavaScript white space (`String.prototype.trim` leaves
/// nothing).
pub fn is_blank_string(inside: &[u8]) -> bool {
    let is_blank_unit = |unit| char::from_u32(u32::from(unit)).is_some_and(is_white_space);
    if inside.contains(&b'\\') { decode(inside).all(is_blank_unit) } else { is_blank(inside) }
}

fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// Whether the inside of a valid JSON string, escapes and all, spells `word`, which is ASCII.
#[inline]
pub fn spells(inside: &[u8], word: &str) -> bool {
    if inside == word.as_bytes() {
        return true;
    }
    // Each character takes six bytes at most when escaped, so the length rules out nearly every other string.
    inside.len() > word.len()
        && inside.len() <= 6 * word.len()
        && inside.contains(&b'\\')
        && decode(inside).eq(word.encode_utf16())
}

/// Whether the inside of a valid JSON string, escapes and all, spells any `word`.
pub fn spells_any(inside: &[u8], word: &str) -> bool {
    inside == word.as_bytes() || (inside.contains(&b'\\') && decode(inside).eq(word.encode_utf16()))
}

/// The UTF-16 code units of the inside of a valid JSON string. Lone surrogates stay what they are.
pub fn decode(inside: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let mut units = Vec::with_capacity(inside.len());
    decode_onto(&mut units, inside);
    units.into_iter()
}

/// Appends the UTF-16 code units of the inside of a valid JSON string.
pub fn decode_onto(units: &mut Vec<u16>, inside: &[u8]) {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        push_lossy(units, &rest[..at]);
        let (unit, length) = escaped_unit(&rest[at..]);
        units.push(unit);
        rest = &rest[at + length..];
    }
    push_lossy(units, rest);
}

/// The same until there are `most` units. The last character is appended whole, so there may be one more.
pub fn decode_up_to(units: &mut Vec<u16>, inside: &[u8], most: usize) {
    let mut rest = inside;
    while !rest.is_empty() && units.len() < most {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        let (text, escaped) = rest.split_at(plain);
        push_lossy_up_to(units, text, most);
        rest = escaped;
        if !escaped.is_empty() && units.len() < most {
            let (unit, length) = escaped_unit(escaped);
            units.push(unit);
            rest = &escaped[length..];
        }
    }
}

/// Appends the characters of the JSON string whose inside `bytes` begin with, one byte each. Returns how long the inside is. Nothing
/// if a character is beyond U+00FF, or the string is not JSON: what was appended by then is of no use.
pub fn decode_narrow_onto(narrow: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += copy_plain_ascii(narrow, &bytes[at..]);
        let rest = &bytes[at..];
        let (byte, length) = match rest {
            [b'"', ..] => return Some(at),
            [b'\\', b'u', digits @ ..] => (u8::try_from(hex(digits.first_chunk()?)?).ok()?, 6),
            [b'\\', escape, ..] => (simple_escape(*escape)?, 2),
            // U+0080 to U+00FF are the characters that begin with these.
            [first @ (0xc2 | 0xc3), second @ 0x80..=0xbf, ..] => (first << 6 | second & 0x3f, 2),
            _ => return None,
        };
        narrow.push(byte);
        at += length;
    }
}

fn simple_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'n' => b'\n',
        b'"' | b'\\' | b'/' => byte,
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0c,
        _ => return None,
    })
}

fn hex(digits: &[u8; 4]) -> Option<u16> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

fn push_lossy(units: &mut Vec<u16>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        units.extend(chunk.valid().encode_utf16());
        if !chunk.invalid().is_empty() {
            units.push(0xfffd);
        }
    }
}

fn push_lossy_up_to(units: &mut Vec<u16>, bytes: &[u8], most: usize) {
    for chunk in bytes.utf8_chunks() {
        let broken = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        for c in chunk.valid().chars().chain(broken) {
            if units.len() >= most {
                return;
            }
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
}

/// The code unit of the escape at the beginning of `bytes`, and how many bytes the escape has.
fn escaped_unit(bytes: &[u8]) -> (u16, usize) {
    match bytes.get(1) {
        Some(b'u') => (bytes.get(2..).and_then(<[u8]>::first_chunk).and_then(hex).unwrap_or(0), 6),
        Some(other) => (u16::from(simple_escape(*other).unwrap_or(*other)), 2),
        None => (u16::from(b'\\'), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(inside: &[u8]) -> String {
        String::from_utf16_lossy(&decode(inside).collect::<Vec<_>>())
    }

    #[test]
    fn blank_is_what_trim_leaves_nothing_of() {
        for blank in ["", " ", "\t\u{b}\u{c}\r", "\u{feff}", "\u{a0}\u{2028}\u{3000}\u{1680}\u{200a}\u{202f}\u{205f}"] {
            assert!(is_blank(blank.as_bytes()), "{blank:?}");
        }
        for not_blank in ["x", "\u{85}", "\u{200b}", "\u{180e}", "\0", " . "] {
            assert!(!is_blank(not_blank.as_bytes()), "{not_blank:?}");
        }
        assert!(!is_blank(b"\xff"), "U+FFFD is no white space");
    }

    #[test]
    fn a_string_is_blank_by_what_its_escapes_mean() {
        for blank in
            [&b""[..], b" ", br"\u0020\t\n\r\f\u000b", br"\ufeff\u00a0 \u2029\u3000", "\u{2003}\\u1680".as_bytes()]
        {
            assert!(is_blank_string(blank), "{blank:?}");
        }
        for other in
            [&br"\b"[..], br"\u0085", br"\u180e", br"\u200b", br"\ud800", br" \u0041", b"\xff", b" \\t\xff", br"\\"]
        {
            assert!(!is_blank_string(other), "{other:?}");
        }
    }

    #[test]
    fn escaped_words_are_recognised() {
        assert!(spells(b"type", "type"));
        assert!(spells(br"ty\u0070e", "type"));
        assert!(spells(br"\u0074\u0079\u0070\u0065", "type"));
        for other in [&b"typ"[..], b"types", br"ty\u0070E", br"\u0074ype2", b"", br"ty\\pe"] {
            assert!(!spells(other, "type"), "{other:?}");
        }
    }

    #[test]
    fn escapes_and_bad_bytes_decode_as_in_javascript() {
        assert_eq!(decoded(br#"a\n\"\\\/\b\f\r\t\u00e9"#), "a\n\"\\/\u{8}\u{c}\r\t\u{e9}");
        assert_eq!(decode(br"\ud83d\ude00\ud800").collect::<Vec<_>>(), [0xd83d, 0xde00, 0xd800]);
        // One U+FFFD for each maximal part of a broken sequence, as the WHATWG decoder has it.
        assert_eq!(decoded(b"a\xe2\x82b\xff\xf0\x9f\x98"), "a\u{fffd}b\u{fffd}\u{fffd}");
        assert_eq!(decoded(b"\xed\xa0\x80"), "\u{fffd}\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn the_beginning_of_a_text_is_that_of_the_whole(
            pieces in proptest::collection::vec(prop_oneof![
                any::<String>().prop_map(|text| text.replace(['"', '\\'], "x").into_bytes()),
                prop::sample::select(vec![&br"\n"[..], br"\ud83d", br"\ude00", b"\xff", b"\xe2\x82", b"\xf0\x9f\x98\x80"]).prop_map(<[u8]>::to_vec),
            ], 0..12),
            before in 0..3_usize,
            most in 0..40_usize,
        ) {
            let inside = pieces.concat();
            let mut units = vec![0x61; before];
            decode_up_to(&mut units, &inside, most);
            let whole: Vec<u16> = std::iter::repeat_n(0x61, before).chain(decode(&inside)).collect();
            prop_assert!(whole.starts_with(&units));
            prop_assert!(units.len() == whole.len() || units.len() >= most);
            prop_assert!(units.len() <= before.max(most + 1));
        }

        #[test]
        fn any_text_survives_serde_json(text in any::<String>()) {
            let literal = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(decoded(&literal.as_bytes()[1..literal.len() - 1]), text);
        }
    }
}
