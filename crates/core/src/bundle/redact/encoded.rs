//! Finds texts that are encoded as base64, base64url or hex digits, and decodes them once.
//!
//! Only what decodes to text from its beginning is such a text: images, hashes and long words do not. Lines of 60 characters and
//! more are joined, as `base64` and MIME wrap them.

mod digits;

use digits::{BLOCK_BYTES, digits};

/// The minimum length of an encoded text: 16 bytes.
const MIN_BASE64: usize = 22;
const MIN_HEX: usize = 32;

/// The minimum length of a line that the next one continues.
const MIN_LINE: usize = 60;

/// Letters that are fewer may be a word rather than a line.
const MIN_WORD: usize = 16;

/// How many decoded bytes show whether it is a text.
const SAMPLE: usize = 24;

/// An encoded text: its range, and what it decodes to.
#[derive(Debug)]
pub(crate) struct Segment {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte, with the padding.
    pub end: usize,
    /// What it decodes to. UTF-16 has become UTF-8, if it is ASCII.
    pub decoded: Vec<u8>,
}

/// The value of each digit of base64 and base64url; [`NONE`] for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < 64 {
        values[digits[at] as usize] = at as u8;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

const NONE: u8 = 0xff;

fn is_digit(byte: u8) -> bool {
    VALUES[byte as usize] != NONE
}

/// The encoded texts in `text`, in order. If `is_cut`, the text may begin in the middle of one.
pub(crate) fn segments(text: &[u8], is_cut: bool) -> impl Iterator<Item = Segment> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some((start, end)) = run(text, from) {
            let end = joined(text, start, end);
            from = end;
            if let Some(segment) = segment(text, start, end, is_cut && start == 0) {
                return Some(segment);
            }
        }
        None
    })
}

/// The end of the token of Discord of which an encoded text is the first part: the number of an account. `None` if it is none.
pub(super) fn end_of_discord_token(text: &[u8], segment: &Segment) -> Option<usize> {
    let is_account = (17..=20).contains(&segment.decoded.len()) && segment.decoded.iter().all(u8::is_ascii_digit);
    is_account.then(|| end_of_discord_parts(text, segment.end)).flatten()
}

/// The end of the second and third part of a token of Discord at `at`. What follows one without anything between, such as another token, belongs to it.
pub(super) fn end_of_discord_parts(text: &[u8], at: usize) -> Option<usize> {
    let part = |at: usize, lengths: std::ops::RangeInclusive<usize>| {
        let rest = text.get(at..)?.strip_prefix(b".")?;
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
        lengths.contains(&length).then_some(at + 1 + length)
    };
    part(at, 6..=7).and_then(|at| part(at, 27..=usize::MAX))
}

/// The range of digits around an occurrence of an encoded secret, with the padding.
pub(super) fn whole_run(text: &[u8], start: usize, end: usize) -> (usize, usize) {
    let before = text[..start].iter().rev().take_while(|byte| is_digit(**byte)).count();
    let after = text[end..].iter().take_while(|byte| is_digit(**byte)).count();
    let mut start = start - before;
    if start > 0 && text[start - 1] == b'\\' && before > 0 {
        start += 1;
    }
    (start, padded(text, end + after))
}

/// The next sequence of digits from `from` on that is long enough.
fn run(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let (mut at, mut before) = (from, 0);
    while at < text.len() {
        let found = digits_at(text, at);
        let starts = starts_of_runs(u128::from(found) << BLOCK_BYTES | before);
        if starts != 0 {
            let start = at + starts.trailing_zeros() as usize - BLOCK_BYTES;
            // The letter of an escape.
            let escape = usize::from(start > 0 && text[start - 1] == b'\\');
            return Some((start + escape, end_of_digits(text, start)));
        }
        (at, before) = (at + BLOCK_BYTES, u128::from(found));
    }
    None
}

/// The offset behind the digits that begin at `at`.
fn end_of_digits(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        let count = digits_at(text, at).trailing_ones() as usize;
        at += count;
        if count < BLOCK_BYTES {
            break;
        }
    }
    at
}

/// Which bytes of the block at `at` are digits. None is behind the end.
fn digits_at(text: &[u8], at: usize) -> u64 {
    match text[at..].first_chunk() {
        Some(block) => digits(block),
        None => {
            let mut block = [0; BLOCK_BYTES];
            block[..text.len() - at].copy_from_slice(&text[at..]);
            digits(&block)
        }
    }
}

/// The bits with which [`MIN_BASE64`] consecutive ones begin.
#[inline(always)]
fn starts_of_runs(digits: u128) -> u128 {
    const { assert!(MIN_BASE64 == 2 * 11) };
    let two = digits & digits >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    let eleven = eight & eight >> 3;
    eleven & eleven >> 11
}

/// The end of an encoded text that begins with the line `text[start..end]`.
fn joined(text: &[u8], start: usize, mut end: usize) -> usize {
    let mut line = start;
    while end - line >= MIN_LINE && (end - line).is_multiple_of(4) {
        let Some(next) = next_line(text, end) else { break };
        let length = text[next..].iter().take_while(|byte| is_digit(**byte)).count();
        // The first word of a sentence continues no line.
        let after = text.get(padded(text, next + length));
        let is_alone = after.is_none_or(|byte| b"\r\n\\\"'`<,)".contains(byte));
        let is_word = length < MIN_WORD && text[next..next + length].iter().all(u8::is_ascii_alphabetic);
        if length == 0 || is_word && !is_alone {
            break;
        }
        (line, end) = (next, next + length);
    }
    padded(text, end)
}

fn padded(text: &[u8], end: usize) -> usize {
    end + text[end..].iter().take(2).take_while(|byte| **byte == b'=').count()
}

/// The offset after a line break at `at`, which may be escaped.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let breaks: [&[u8]; 5] = [b"\r\n", b"\n", b"\\r\\n", b"\\n", b"\\\\n"];
    breaks.iter().find(|line| rest.starts_with(line)).map(|line| at + line.len())
}

fn segment(text: &[u8], start: usize, end: usize, is_cut: bool) -> Option<Segment> {
    let run = &text[start..end];
    let hex = run.strip_prefix(b"0x").unwrap_or(run);
    if is_hex(hex) {
        return hex_decoded(hex, is_cut).map(|decoded| Segment { start, end, decoded: narrowed(decoded) });
    }
    // Of most words and paths the first digits show that they are none.
    let begins_as_hex =
        run.len() >= MIN_HEX && run[..MIN_HEX].iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'x');
    let slash = memchr::memrchr(b'/', &run[..run.len().min(64)]).map(|slash| slash + 1);
    let slash = slash.filter(|at| run.len() - at >= MIN_BASE64 && begins_as_text(&run[*at..]));
    if !begins_as_hex && !is_cut && slash.is_none() && !begins_as_text(run) {
        return None;
    }
    let starts = if is_cut { vec![0, 1, 2, 3] } else { [Some(0), slash].into_iter().flatten().collect() };
    starts.into_iter().find_map(|offset| {
        let (mut sample, mut length) = ([0; SAMPLE], 0);
        for byte in decoded(&run[offset..]).take(SAMPLE) {
            sample[length] = byte;
            length += 1;
        }
        if !is_text(&sample[..length]) {
            return None;
        }
        let mut text = Vec::with_capacity((run.len() - offset) * 3 / 4 + 3);
        text.extend(decoded(&run[offset..]));
        Some(Segment { start: start + offset, end, decoded: narrowed(text) })
    })
}

/// Whether these are hex digits and long enough. Hashes are most of what is looked at in a log: a fold without exits is one of vectors.
fn is_hex(run: &[u8]) -> bool {
    let are_hex = |digits: &[u8]| digits.iter().fold(true, |all, byte| all & byte.is_ascii_hexdigit());
    run.len() >= MIN_HEX && are_hex(&run[..MIN_HEX]) && are_hex(run)
}

/// What hex digits decode to, if it is a text. If `is_cut`, they may begin with the second half of a byte.
fn hex_decoded(hex: &[u8], is_cut: bool) -> Option<Vec<u8>> {
    let offset = (0..=usize::from(is_cut)).find(|offset| {
        let digits = &hex[*offset..];
        let length = (digits.len() / 2).min(SAMPLE);
        // Of a length that is known, for instructions of vectors.
        let mut beginning = [b'0'; 2 * SAMPLE];
        beginning[..2 * length].copy_from_slice(&digits[..2 * length]);
        let sample: [u8; SAMPLE] = std::array::from_fn(|at| hex_byte(beginning[2 * at], beginning[2 * at + 1]));
        is_text(&sample[..length])
    })?;
    Some(hex[offset..].chunks_exact(2).map(|pair| hex_byte(pair[0], pair[1])).collect())
}

/// Whether the first eight digits may decode to text.
fn begins_as_text(run: &[u8]) -> bool {
    let digits = run.get(..8).unwrap_or_default().iter();
    let bits = digits.fold(0u64, |bits, byte| bits << 6 | u64::from(VALUES[*byte as usize] & 63));
    let bytes = &bits.to_be_bytes()[2..];
    let is_plain = |byte: &&u8| (0x20..0x7f).contains(*byte) || matches!(**byte, b'\n' | b'\r' | b'\t' | 0);
    matches!(bytes[0], 0xef | 0xfe | 0xff) || bytes.iter().filter(is_plain).count() >= 5
}

fn hex_byte(high: u8, low: u8) -> u8 {
    hex_value(high) << 4 | hex_value(low)
}

/// The value of a hex digit. Letters have bit 6, and their lowest four bits are one for `a` and `A`.
fn hex_value(digit: u8) -> u8 {
    (digit & 0xf) + 9 * (digit >> 6)
}

/// Decodes base64 or base64url. Line breaks, and escapes of them, are passed over.
fn decoded(run: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let (mut bits, mut count, mut is_escape) = (0u32, 0, false);
    run.iter().filter_map(move |byte| {
        let value = VALUES[*byte as usize];
        if value == NONE || is_escape {
            is_escape = *byte == b'\\';
            return None;
        }
        bits = bits << 6 | u32::from(value);
        count = (count + 6) % 8;
        (count < 6).then(|| (bits >> count) as u8)
    })
}

/// Without branches, for instructions of vectors.
fn is_printable(byte: u8) -> bool {
    (byte.wrapping_sub(0x20) < 0x5f) | (byte == b'\n') | (byte == b'\r') | (byte == b'\t')
}

/// Whether decoded bytes begin as a text does, in UTF-8 or UTF-16.
fn is_text(decoded: &[u8]) -> bool {
    let sample = &decoded[..decoded.len().min(SAMPLE)];
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let sample = sample.strip_prefix(b"\xff\xfe").or(sample.strip_prefix(b"\xfe\xff")).unwrap_or(sample);
    // In both encodings at most four are neither printable nor zero. A hash has more of them among its first bytes.
    if let Some(first) = sample.first_chunk::<16>()
        && first.iter().map(|byte| u8::from(!is_printable(*byte) & (*byte != 0))).sum::<u8>() > 4
    {
        return false;
    }
    let printable = sample.iter().filter(|byte| is_printable(**byte)).count();
    let zeros = sample.iter().filter(|byte| **byte == 0).count();
    let is_wide = zeros * 2 >= sample.len().saturating_sub(2) && printable * 2 + 2 >= sample.len();
    !sample.is_empty() && (printable * 5 >= sample.len() * 4 || is_wide)
}

/// UTF-16 as UTF-8, if it is ASCII.
fn narrowed(mut decoded: Vec<u8>) -> Vec<u8> {
    if decoded.len() > 3 && decoded[..decoded.len().min(SAMPLE)].iter().filter(|byte| **byte == 0).count() >= 2 {
        decoded.retain(|byte| *byte != 0);
    }
    decoded
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64, Base64UrlUnpadded, Encoding};
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let segments = segments(text.as_bytes(), false);
        segments
            .map(|it| (text[it.start..it.end].to_owned(), String::from_utf8_lossy(&it.decoded).into_owned()))
            .collect()
    }

    #[test]
    fn encoded_texts_are_found_whole() {
        let plain = "user=joe&token=abc?>~\n and more of it";
        let (base64, url) =
            (Base64::encode_string(plain.as_bytes()), Base64UrlUnpadded::encode_string(plain.as_bytes()));
        let hex: String = plain.bytes().map(|byte| format!("{byte:02x}")).collect();
        let wide: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for encoded in [base64, url, hex.to_uppercase(), hex, Base64::encode_string(&wide)] {
            for (before, after) in
                [("", ""), ("x=\"", "\" y"), ("data:text/plain;base64,", ""), ("\\n", "\\n"), ("é ", "\n")]
            {
                assert_eq!(
                    found(&format!("{before}{encoded}{after}")),
                    [(encoded.clone(), plain.to_owned())],
                    "{before}"
                );
            }
        }
    }

    #[test]
    fn lines_of_an_encoded_text_are_joined() {
        let plain = "a line of text, ".repeat(20);
        let encoded = Base64::encode_string(plain.as_bytes());
        for line_break in ["\n", "\r\n", "\\n"] {
            let lines: Vec<_> = encoded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
            assert_eq!(found(&lines.join(line_break)), [(lines.join(line_break), plain.clone())]);
        }
    }

    #[test]
    fn hashes_images_and_words_are_not_encoded_texts() {
        for text in [
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
            "/usr/lib/python3/dist-packages/some_module_of_it",
            "getAvailableModelsForProvider aVeryLongIdentifierOfAProgram",
            "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_long_sequence_of_digits_is_found(
            parts in prop::collection::vec(("[A-Za-z0-9+/_-]{1,30}", 1usize..4, "[ .\\\\=\n]{1,3}"), 0..12),
            from in 0usize..40,
        ) {
            let text: String = parts.iter().map(|(digits, times, other)| digits.repeat(*times) + other).collect();
            let from = from.min(text.len());
            let runs = text.as_bytes()[from..].split(|byte| !is_digit(*byte)).map(|run| {
                let start = run.as_ptr() as usize - text.as_ptr() as usize;
                (start, start + run.len())
            });
            let escape = |start: usize| usize::from(start > 0 && text.as_bytes()[start - 1] == b'\\');
            let expected = runs.filter(|(start, end)| end - start >= MIN_BASE64).map(|(start, end)| (start + escape(start), end));
            let mut at = from;
            let found = std::iter::from_fn(|| run(text.as_bytes(), at).inspect(|(_, end)| at = *end));
            prop_assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }

        #[test]
        fn first_bytes_rule_out_no_text(
            text in "[ -~\n\r\t]{12,24}",
            is_wide: bool,
            others in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
        ) {
            let mut bytes: Vec<u8> = if is_wide { text.bytes().flat_map(|byte| [byte, 0]).collect() } else { text.into_bytes() };
            others.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
            let sample = &bytes[..bytes.len().min(SAMPLE)];
            prop_assume!(!sample.starts_with(b"\xef\xbb\xbf") && !sample.starts_with(b"\xff\xfe") && !sample.starts_with(b"\xfe\xff"));
            let printable = sample.iter().filter(|byte| matches!(**byte, 0x20..0x7f | b'\n' | b'\r' | b'\t')).count();
            let zeros = sample.iter().filter(|byte| **byte == 0).count();
            let is_plain = printable * 5 >= sample.len() * 4;
            prop_assert_eq!(is_text(&bytes), is_plain || zeros * 2 + 2 >= sample.len() && printable * 2 + 2 >= sample.len());
        }

        #[test]
        fn nothing_panics_and_segments_are_in_order(text in "[ -~\n\\\\]{0,90}|[A-Za-z0-9+/=\n]{0,300}", is_cut: bool) {
            let mut at = 0;
            for segment in segments(text.as_bytes(), is_cut) {
                prop_assert!(at <= segment.start && segment.start < segment.end && segment.end <= text.len());
                at = segment.end;
            }
        }
    }
}
