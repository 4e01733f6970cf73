//! Finds the value that a name is given, in any of the notations that files, programs and command lines use.

use std::ops::Range;

/// How long a quoted value may be. Longer texts are no passwords, and keys have rules of their own.
const MAX_QUOTED_BYTES: usize = 8 << 10;

/// How long a value without quotes may be.
pub(super) const MAX_BARE_BYTES: usize = 4 << 10;

/// How far the value may be from the beginning of an object that a name is given.
const MAX_OBJECT: usize = 300;

/// How much white space may be between a name and its value.
const MAX_SPACE: usize = 64;

/// In what notation a name is given a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// In an environment, a query or a flag: `NAME=value`, `?name=value`, `--name=value`. Anything there is a value.
    Strong,
    /// After a flag and white space.
    Flag,
    /// At the beginning of a line, after `:` or `=`, with nothing after it.
    Line,
    /// In a header: after the name and `: `, at the beginning of a line or a quoted text.
    Header,
    /// After a name in quotes: `"name": "value"`, `env['NAME'] = 'value'`.
    Member,
    /// Elsewhere, as in code.
    Code,
    /// After the name in a list, a call or a table.
    Adjacent,
    /// Between tags: `<name>value</name>`.
    Element,
    /// The second of a pair of a user and a password.
    Pair,
}

/// The value that a name is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// The offset of the first byte, without a quote.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
    /// Whether it is in quotes.
    pub is_quoted: bool,
    /// The quote, if so.
    pub quote: u8,
    /// The notation.
    pub notation: Notation,
    /// Whether nothing follows in the line.
    pub ends_line: bool,
    /// Whether it stands where settings do rather than code: directly after `=`, a flag or `name: `, with nothing of code behind it.
    pub is_setting: bool,
    /// Whether it is after `:`, as types are, too.
    pub is_after_colon: bool,
}

impl Given {
    /// The part of the value that may be a secret.
    pub(crate) fn narrowed(self, narrowed: &dyn Fn(usize, usize) -> (usize, usize)) -> Option<Given> {
        let (start, end) = narrowed(self.start, self.end);
        (start < end).then_some(Given { start, end, ends_line: self.ends_line || end < self.end, ..self })
    }
}

/// The value that the name in `text[start..end]` is given.
pub(super) fn given(text: &[u8], start: usize, end: usize) -> Option<Given> {
    let around = Around::of(text, start);
    if around.is_element {
        return element(text, start, end);
    }
    let mut at = end;
    let quote = text.get(at + escapes(text, at)).copied().filter(|byte| is_quote(*byte));
    let is_quoted_name = quote.is_some() && around.quote == quote;
    if is_quoted_name || quote == Some(b'`') {
        at += escapes(text, at) + 1;
    }
    while text.get(at).is_some_and(|byte| matches!(byte, b']' | b'*') || (is_quoted_name && *byte == b')')) {
        at += 1;
    }
    if matches!(text.get(at..at + 2), Some(b"?:" | b"!:")) {
        at += 1;
    }
    let spaced = skip_space(text, at, is_quoted_name);
    let (operator, after) = operator(text, spaced);
    let has_space = spaced > at;
    let notation = match operator {
        Operator::None if around.is_flag && has_space && !is_quoted_name => Notation::Flag,
        Operator::None if is_quoted_name => {
            return attribute_value(text, spaced)
                .or_else(|| part_of_form(text, start, at, &around))
                .or_else(|| named_element(text, start, at));
        }
        Operator::None if text.get(at) == Some(&b'(') => return quoted(text, at + 1, Notation::Adjacent),
        // The output of a step: `::set-output name=token::…`.
        Operator::None if text[at..].starts_with(b"::") && text[..start].ends_with(b"name=") => {
            return value(text, at + 2, Notation::Strong, &around);
        }
        Operator::None if text[at..].starts_with(b"</key>") => return next_element(text, at + 6),
        Operator::None if around.is_named => return attribute_value(text, skip_space(text, at, true)),
        Operator::None if has_space && around.is_statement => Notation::Flag,
        Operator::None if text[spaced..].starts_with(b"is ") => {
            return value(text, spaced + 3, Notation::Adjacent, &around);
        }
        Operator::None if spaced - at > 1 || text.get(at) == Some(&b'\t') => {
            return value(text, spaced, Notation::Adjacent, &around);
        }
        Operator::None => return None,
        Operator::Comma if is_quoted_name => {
            let named = attribute_value(text, skip_space(text, after, true));
            let notation = is_cookie(text, start).then_some(Notation::Strong);
            return named.map(|given| Given { notation: notation.unwrap_or(given.notation), ..given }).or_else(|| {
                let notation = if around.is_flag { Notation::Flag } else { Notation::Adjacent };
                value(text, skip_space(text, after, true), notation, &around).filter(|given| given.is_quoted)
            });
        }
        Operator::Comma => return None,
        Operator::Compared if text.get(skip_space(text, after, false)).is_some_and(|byte| is_quote(*byte)) => {
            Notation::Adjacent
        }
        Operator::Compared => return None,
        Operator::Bar => Notation::Adjacent,
        _ if around.is_flag && operator == Operator::Equals && !has_space => Notation::Strong,
        _ if is_quoted_name => Notation::Member,
        Operator::Equals if around.is_query && !has_space => Notation::Strong,
        Operator::Equals
            if !has_space && !is_space_at(text, after) && is_upper(&text[start..end]) && around.is_word_start =>
        {
            Notation::Strong
        }
        Operator::Colon
            if around.is_header && !has_space && (is_space_at(text, after) || text[start..end].contains(&b'-')) =>
        {
            Notation::Header
        }
        Operator::Equals | Operator::Colon if around.is_line => Notation::Line,
        _ => Notation::Code,
    };
    let from = skip_space(text, after, is_quoted_name || notation == Notation::Flag && after > end);
    let emphasis = text.get(from..).unwrap_or_default().iter().take(3).take_while(|byte| **byte == b'*').count();
    let from = if emphasis > 1 { skip_space(text, from + emphasis, false) } else { from };
    if operator == Operator::Equals && text.get(from) == Some(&b'(') && text[start..end].eq_ignore_ascii_case(b"auth") {
        return second_of_pair(text, from + 1);
    }
    if is_quoted_name && operator == Operator::Colon && text.get(from) == Some(&b'{') {
        return value_in_object(text, from + 1);
    }
    if text.get(from) == Some(&b'[') && operator != Operator::Bar {
        return quoted(text, skip_space(text, from + 1, true), Notation::Adjacent);
    }
    if notation != Notation::Adjacent
        && operator == Operator::Colon
        && !is_quoted_name
        && let Some(from) = after_type(text, from)
    {
        return value(text, from, Notation::Code, &around);
    }
    let is_assigned = operator == Operator::Equals && !has_space && (from == after || notation == Notation::Line);
    let is_alone = operator == Operator::Colon && !has_space && matches!(notation, Notation::Line | Notation::Header);
    let is_after_colon = operator == Operator::Colon;
    value(text, from, notation, &around).map(|given| {
        let is_setting = match notation {
            _ if given.is_quoted => {
                is_assigned && matches!(notation, Notation::Line | Notation::Strong) && ends_line(text, given.end)
            }
            Notation::Flag => ends_setting(text, given.end),
            _ if is_alone => given.ends_line,
            _ => is_assigned && around.begins_setting() && ends_setting(text, given.end),
        };
        Given { is_setting, is_after_colon, ..given }
    })
}

/// Whether what follows a value without quotes is the end of a setting, and not the rest of a call or a statement.
fn ends_setting(text: &[u8], end: usize) -> bool {
    let rest = &text[end.min(text.len())..];
    match rest.first() {
        Some(b';') => !ends_line(text, end),
        Some(byte) => byte.is_ascii_whitespace() || is_quote(*byte) || matches!(byte, b'&' | b'\\'),
        None => true,
    }
}

/// Whether only the quote that closes a value is between its end and that of the line.
fn ends_line(text: &[u8], end: usize) -> bool {
    let rest = &text[end.min(text.len())..];
    let line = &rest[..memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()).min(MAX_SPACE)];
    line.iter().skip(escapes(text, end) + 1).all(|byte| byte.is_ascii_whitespace())
}

/// What is before a name.
struct Around {
    /// The quote directly before it.
    quote: Option<u8>,
    is_flag: bool,
    is_query: bool,
    is_line: bool,
    is_header: bool,
    is_element: bool,
    is_word_start: bool,
    /// After `name:`, in a list of names and values.
    is_named: bool,
    /// After a word of a shell or a Dockerfile that white space follows.
    is_statement: bool,
}

impl Around {
    /// Whether the name begins a word, is a flag, or is in a query.
    fn begins_setting(&self) -> bool {
        self.is_word_start || self.is_query || self.is_flag || self.is_line
    }

    fn of(text: &[u8], start: usize) -> Self {
        let before = &text[..start];
        let dashes = before.iter().rev().take(3).take_while(|byte| **byte == b'-').count();
        let last = before.last().copied();
        let before_dashes = before[..start - dashes].last().copied();
        let ends_word = |byte: Option<u8>| {
            byte.is_none_or(|byte| {
                byte.is_ascii_whitespace()
                    || is_quote(byte)
                    || matches!(byte, b'[' | b'(' | b',' | b'`' | b'=' | b';' | b'&' | b'|' | b'{' | b'$' | b':')
            })
        };
        let line = &before[before.len().saturating_sub(160)..];
        let line = memchr::memrchr2(b'\n', b'\r', line).map_or(line, |newline| &line[newline + 1..]);
        // Also before the dashes of a flag in a list of arguments.
        let quote = last.filter(|byte| is_quote(*byte)).or(before_dashes.filter(|byte| dashes > 0 && is_quote(*byte)));
        Around {
            quote,
            is_flag: (dashes == 1 || dashes == 2) && ends_word(before_dashes),
            is_query: matches!(last, Some(b'?' | b'&' | b'=')) || before.ends_with(b"&amp;"),
            is_line: is_line_start(line),
            is_header: quote.is_some()
                || line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'<' | b'>' | b'*' | b'\r')),
            is_element: last == Some(b'<') || is_in_tag(line),
            is_word_start: ends_word(last),
            is_named: [&b"name: "[..], b"Name: ", b"key: "].iter().any(|name| line.ends_with(name)),
            is_statement: [&b"ENV "[..], b"ARG ", b"set -gx ", b"set -x ", b"setx ", b"setenv ", b"#define "]
                .iter()
                .any(|word| line.ends_with(word)),
        }
    }
}

/// Whether a line of a file may have a name after this: indentation, a dotted prefix, a word of a shell or a list.
fn is_line_start(before: &[u8]) -> bool {
    let Ok(before) = std::str::from_utf8(before) else { return false };
    let before = before.trim_start_matches(|c: char| c.is_whitespace() || "#>+$-*".contains(c));
    let is_prefix = |c: char| c.is_ascii_alphanumeric() || "_.-/:@".contains(c);
    let dotted = |word: &str| (word.ends_with(['.', '/']) || word.ends_with("/:")) && word.chars().all(is_prefix);
    before.is_empty()
        || dotted(before)
        || matches!(
            before.trim_end(),
            "export" | "set" | "setx" | "declare -x" | "env" | "ENV" | "ARG" | "-e" | "--env" | "SET" | "$env:"
        )
}

/// Whether a name is that of an element with a prefix, as in `<wsse:Password>`.
fn is_in_tag(line: &[u8]) -> bool {
    line.ends_with(b":")
        && line[..line.len() - 1].iter().rev().take(20).find(|byte| !byte.is_ascii_alphanumeric()) == Some(&b'<')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    None,
    Equals,
    Colon,
    Arrow,
    Comma,
    Bar,
    Compared,
}

fn operator(text: &[u8], at: usize) -> (Operator, usize) {
    let rest = &text[at.min(text.len())..];
    let two = rest.get(..2).unwrap_or_default();
    match rest.first() {
        Some(b'=') if two == b"=>" => (Operator::Arrow, at + 2),
        // Comparisons give nothing.
        Some(b'=') if two == b"==" => (Operator::Compared, at + 2 + usize::from(rest.get(2) == Some(&b'='))),
        Some(b'=') if two == b"=~" => (Operator::None, at),
        Some(b'=') => (Operator::Equals, at + 1),
        Some(b':') if two == b":=" => (Operator::Arrow, at + 2),
        Some(b':') if two == b"::" => (Operator::None, at),
        Some(b':') => (Operator::Colon, at + 1),
        Some(b'+' | b'?') if rest.get(1) == Some(&b'=') => (Operator::Arrow, at + 2),
        Some(b'|' | b'?') if matches!(rest.get(..3), Some(b"||=" | b"??=")) => (Operator::Arrow, at + 3),
        Some(b',') => (Operator::Comma, at + 1),
        Some(b'|') if two != b"||" => (Operator::Bar, at + 1),
        _ => (Operator::None, at),
    }
}

/// The value in `value="…"` or `"value": "…"`, after a name that stands as a value itself.
fn attribute_value(text: &[u8], at: usize) -> Option<Given> {
    let at = at + escapes(text, at);
    let at = at + usize::from(text.get(at).is_some_and(|byte| is_quote(*byte)));
    let length = text.get(at..)?.iter().take(20).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let word = text[at..at + length].to_ascii_lowercase();
    if !(word.ends_with(b"value") || word == b"content") {
        return None;
    }
    let at = at + length + escapes(text, at + length);
    let at = at + usize::from(text.get(at).is_some_and(|byte| is_quote(*byte)));
    let (operator, at) = operator(text, skip_space(text, at, true));
    if !matches!(operator, Operator::Equals | Operator::Colon) {
        return None;
    }
    let at = skip_space(text, at, true);
    quoted(text, at, Notation::Member).or_else(|| bare(text, at, Notation::Line, &Around::of(text, at)))
}

/// Whether a name at `start` is that of a cookie in a list of them, as HAR has it.
fn is_cookie(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(MAX_OBJECT)..start];
    memchr::memmem::rfind(before, b"cookies").is_some_and(|at| memchr::memchr(b']', &before[at..]).is_none())
}

/// The value of a part of a form: after `name="…"` and an empty line.
fn part_of_form(text: &[u8], start: usize, at: usize, around: &Around) -> Option<Given> {
    let before = &text[..start - 1];
    let breaks: [&[u8]; 2] = [b"\r\n\r\n", b"\n\n"];
    let line_break = breaks.iter().find(|line| text[at..].starts_with(line))?;
    before.ends_with(b"name=").then(|| bare(text, at + line_break.len(), Notation::Element, around)).flatten()
}

/// The password in `auth=("user", "password")`, after the parenthesis.
fn second_of_pair(text: &[u8], at: usize) -> Option<Given> {
    let user = quoted(text, skip_space(text, at, true), Notation::Pair)?;
    let at = user.end + escapes(text, user.end) + 1;
    let (operator, at) = operator(text, skip_space(text, at, true));
    (operator == Operator::Comma).then(|| quoted(text, skip_space(text, at, true), Notation::Pair)).flatten()
}

/// The value in `{"type": "string", "value": "…"}`, after the brace.
fn value_in_object(text: &[u8], at: usize) -> Option<Given> {
    let inside = &text[at..(at + MAX_OBJECT).min(text.len())];
    let inside = &inside[..memchr::memchr2(b'}', b'{', inside).unwrap_or(inside.len())];
    let member = memchr::memmem::find_iter(inside, b"value")
        .find(|at| at.checked_sub(1).is_some_and(|quote| inside[quote] == b'"'))?;
    attribute_value(text, at + member)
}

/// The text of the element after `<key>name</key>`.
fn next_element(text: &[u8], at: usize) -> Option<Given> {
    let at = skip_space(text, at, true);
    text[at..].starts_with(b"<string>").then(|| text_of_element(text, at + 8)).flatten()
}

/// The text of an element with a name: `<string name="…">text</string>`.
fn named_element(text: &[u8], start: usize, at: usize) -> Option<Given> {
    let line = &text[start.saturating_sub(60)..start];
    let tag = &line[memchr::memrchr(b'<', line)?..];
    let is_named = [&b"<string name="[..], b"<property name=", b"<entry key=", b"<param name="];
    let is_value = is_named.iter().any(|name| tag.starts_with(name));
    (is_value && text.get(at) == Some(&b'>')).then(|| text_of_element(text, at + 1)).flatten()
}

/// The text from `at` up to a closing tag.
fn text_of_element(text: &[u8], at: usize) -> Option<Given> {
    let inside = &text[at..(at + MAX_BARE_BYTES).min(text.len())];
    let length = memchr::memchr2(b'<', b'\n', inside)?;
    let is_closed = inside[length..].starts_with(b"</") || inside[length..].starts_with(b"<\\/");
    (is_closed && length > 0).then(|| in_element(at..at + length))
}

fn in_element(text: Range<usize>) -> Given {
    Given {
        start: text.start,
        end: text.end,
        is_quoted: true,
        quote: b'<',
        notation: Notation::Element,
        ends_line: false,
        is_setting: false,
        is_after_colon: false,
    }
}

/// The text of an element: `<name …>text</`.
fn element(text: &[u8], start: usize, end: usize) -> Option<Given> {
    let rest = text.get(end..(end + 200).min(text.len()))?;
    let open = rest.iter().position(|byte| matches!(byte, b'>' | b'<' | b'\n'))?;
    if rest[open] != b'>' || (open > 0 && !rest[0].is_ascii_whitespace()) {
        return None;
    }
    let from = end + open + 1;
    let inside = &text[from..(from + MAX_BARE_BYTES).min(text.len())];
    let length = memchr::memchr(b'<', inside)?;
    let closing = inside.get(length + 1..)?.strip_prefix(b"/")?;
    let closing = &closing[..closing.len().min(60)];
    memchr::memmem::find(closing, &text[start..end])?;
    let trimmed = inside[..length].trim_ascii();
    let begin = from + inside[..length].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    Some(in_element(begin..begin + trimmed.len()))
}

/// The offset after `: Type = `, if a type is what is at `at`.
fn after_type(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..(at + 80).min(text.len()))?;
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_&'.<>[]|: ?".contains(byte);
    let length = rest.iter().take_while(|byte| is_type(byte)).count();
    let is_assignment = rest.get(length) == Some(&b'=') && !matches!(rest.get(length + 1), Some(b'=' | b'>'));
    (length > 1 && rest[0] != b'\'' && rest[length - 1] == b' ' && is_assignment)
        .then(|| skip_space(text, at + length + 1, false))
}

fn value(text: &[u8], at: usize, notation: Notation, around: &Around) -> Option<Given> {
    let prefix = match text.get(at..at + 2) {
        Some([b'b' | b'r' | b'u' | b'f' | b'L' | b'@' | b'$' | b'B', quote]) if is_quote(*quote) => 1,
        _ => 0,
    };
    let with_quote = at + prefix;
    if text.get(with_quote + escapes(text, with_quote)).is_some_and(|byte| is_quote(*byte)) {
        // The quote that ends the text around a name without quotes: there is no value.
        return match around.quote {
            Some(quote)
                if notation == Notation::Header && text.get(with_quote + escapes(text, with_quote)) == Some(&quote) =>
            {
                None
            }
            _ => quoted(text, with_quote, notation),
        };
    }
    bare(text, at, notation, around)
}

/// A value in quotes, which may be escaped.
fn quoted(text: &[u8], at: usize, notation: Notation) -> Option<Given> {
    let count = escapes(text, at);
    let quote = *text.get(at + count).filter(|byte| is_quote(**byte))?;
    let mut start = at + count + 1;
    if count == 0 && text[start..].starts_with(&[quote, quote]) {
        start += 2;
    }
    let rest = &text[start..(start + MAX_QUOTED_BYTES).min(text.len())];
    let closes = |end: &usize| {
        let before = rest[..*end].iter().rev().take(64).take_while(|byte| **byte == b'\\').count();
        if count == 0 { before % 2 == 0 } else { before == count }
    };
    let end = memchr::memchr_iter(quote, rest).find(closes);
    let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let end = match end {
        Some(end) if end <= line || quote == b'`' => end - count,
        // The text was cut off.
        None if line == rest.len() && start + rest.len() == text.len() => rest.len(),
        _ => return None,
    };
    Some(Given {
        start,
        end: start + end,
        is_quoted: true,
        quote,
        notation,
        ends_line: false,
        is_setting: false,
        is_after_colon: false,
    })
}

/// A value without quotes.
fn bare(text: &[u8], at: usize, notation: Notation, around: &Around) -> Option<Given> {
    let rest = &text[at.min(text.len())..(at + MAX_BARE_BYTES + 1).min(text.len())];
    let is_whole_line = around.is_line && matches!(notation, Notation::Strong | Notation::Line | Notation::Header);
    let ends = |(at, byte): (usize, &u8)| match byte {
        b'&' => !is_whole_line || around.is_query || is_next_parameter(&rest[at + 1..]),
        b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b';' | b',' | b')' | b'}' | b']' => {
            !is_whole_line || notation == Notation::Header && around.quote == Some(*byte)
        }
        b'#' => around.is_query,
        // An escape in a text that is not decoded yet.
        b'\\' => matches!(rest.get(at + 1), Some(b'n' | b'r' | b't' | b'"' | b'\\')),
        _ => byte.is_ascii_whitespace() || byte.is_ascii_control(),
    };
    let mut end = rest.iter().enumerate().position(|(at, byte)| ends((at, byte))).unwrap_or(rest.len());
    // Punctuation that ends an element or a sentence, and quotes that end what is around it.
    while end > 0 && matches!(rest[end - 1], b',' | b';' | b'"' | b'\'' | b'.' | b'`' | b')') {
        end -= 1;
    }
    let line = rest.get(end..).unwrap_or_default();
    let line = &line[..memchr::memchr2(b'\n', b'\r', line).unwrap_or(line.len())];
    let ends_line = line.trim_ascii().is_empty() || (notation == Notation::Header && is_quote(line[0]));
    (end > 0).then_some(Given {
        start: at,
        end: at + end,
        is_quoted: false,
        quote: 0,
        notation,
        ends_line,
        is_setting: false,
        is_after_colon: false,
    })
}

fn is_next_parameter(rest: &[u8]) -> bool {
    let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-[]".contains(byte)).count();
    rest.first().is_none_or(|byte| *byte == b'&' || byte.is_ascii_whitespace())
        || (name > 0 && rest.get(name) == Some(&b'='))
}

fn skip_space(text: &[u8], at: usize, lines: bool) -> usize {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t') || (lines && matches!(byte, b'\n' | b'\r'));
    at + text.get(at..).unwrap_or_default().iter().take(MAX_SPACE).take_while(is_space).count()
}

fn is_space_at(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(u8::is_ascii_whitespace)
}

/// The number of backslashes at `at` before a quote.
fn escapes(text: &[u8], at: usize) -> usize {
    let count = text.get(at..).unwrap_or_default().iter().take(16).take_while(|byte| **byte == b'\\').count();
    if text.get(at + count).is_some_and(|byte| is_quote(*byte)) { count } else { 0 }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn is_upper(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase)
}
