//! JSON values as a tape: what `JSON.parse` would make of their texts, as a flat list of codes, and their strings in a few pools.
//!
//! The reader of a tape builds the values: it reads one code after the other and cuts strings off the pools. Nothing has to be scanned,
//! unescaped or decoded again. What a value means is the same as in the rest of this layer: JavaScript decides
//! (`docs/session-format.md` section 2).

pub mod arena;
mod shapes;

use self::arena::{Arena, Text};
use self::shapes::{ShapeList, Shapes};
use super::scan::{Cursor, Nesting, NotJson, Span, plain_prefix};
use super::text::{ROOM, decode_narrow_onto, decode_wide_onto};

/// What a code says, in its lowest four bits; the rest of it is the code's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The values of an object of the [shape](FinishedTape::shapes) of this number follow.
    Object = 0,
    /// An array of so many values follows.
    Array = 1,
    /// A string of so many characters, the next of [`Tape::narrow`].
    Narrow = 2,
    /// A string of so many UTF-16 units, the next of [`Tape::wide`].
    Wide = 3,
    /// A string: the name of this number.
    Name = 4,
    /// A string: the text of this number in [`Tape::texts`].
    Text = 5,
    /// A value whose JSON is the text of this number in [`Tape::texts`]: one that a JSON parser builds better.
    Json = 6,
    /// This number.
    Integer = 7,
    /// Another number: its bits are in the next two codes, in the order that they have in memory.
    Number = 8,
    /// `true`
    True = 9,
    /// `false`
    False = 10,
    /// `null`
    Null = 11,
}

impl Code {
    fn with(self, number: usize) -> i32 {
        (number as i32) << 4 | self as i32
    }
}

/// A text that is not in a pool.
pub enum OwnText {
    /// A string, one byte a character up to U+00FF.
    Narrow(Text<u8>),
    /// A string, in UTF-16.
    Wide(Text<u16>),
    /// JSON, as it stands in the file.
    Json(Vec<u8>),
}

/// Values on a tape that more can be put on.
#[derive(Default)]
struct Tape {
    /// How many values there are.
    count: usize,
    /// What to build.
    codes: Vec<i32>,
    /// Strings of characters up to U+00FF, one byte each.
    narrow: Vec<u8>,
    /// Strings with other characters, in UTF-16.
    wide: Vec<u16>,
    /// Texts that are too long for a pool: a short string that JavaScript keeps would keep the long ones in memory.
    texts: Vec<OwnText>,
    /// The insides of JSON strings, one after the other, and where each ends.
    names: Vec<u8>,
    name_ends: Vec<u32>,
}

impl Tape {
    fn name(&self, index: usize) -> &[u8] {
        name_of(&self.names, &self.name_ends, index)
    }
}

fn name_of<'n>(names: &'n [u8], ends: &[u32], index: usize) -> &'n [u8] {
    let start = index.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &names[start..ends[index] as usize]
}

/// A tape that is complete. Its texts are where JavaScript can read them in place.
pub struct FinishedTape {
    /// What to build.
    pub codes: Vec<i32>,
    /// Strings of characters up to U+00FF, one byte each.
    pub narrow: Text<u8>,
    /// Strings with other characters, in UTF-16.
    pub wide: Text<u16>,
    /// Texts that are in no pool.
    pub texts: Vec<OwnText>,
    names: Vec<u8>,
    name_ends: Vec<u32>,
    /// The shapes of its objects.
    pub shapes: ShapeList,
}

impl FinishedTape {
    /// The names, as they stand between the quotes of a JSON string: short strings, which often occur again.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.name_ends.len()).map(|index| name_of(&self.names, &self.name_ends, index))
    }
}

/// How many codes there are at most. They are handed over in a buffer of this length. Miri would take minutes to fill it.
pub const MAX_CODES: usize = if cfg!(miri) { 1 << 10 } else { 32 << 10 };

/// Strings up to this length, most ids among them, are names: cut off a pool they would keep all of it in memory.
const MAX_NAME: usize = 40;

/// Longer keys are for a JSON parser: shapes are handed over in one text.
const MAX_KEY: usize = 1 << 10;

/// Objects with more members are for a JSON parser: built member by member, V8 makes a dictionary of them, which is large and slow.
const MAX_MEMBERS: usize = 16;

/// Strings this short cost less to copy from a pool than a name does, as long as they occur a few times only.
const MAX_COPIED: usize = 12;
const FEW: u32 = 3;

/// Strings of this length share a pool with nothing.
const OWN_TEXT: usize = 4 << 10;

/// About how many bytes share a pool at most: a string that JavaScript keeps keeps the whole pool in memory.
const POOL_BYTES: usize = 256 << 10;

/// A longer string is not copied from its pool, which would need as much memory again. A pool that has grown so long for a string that is not
/// kept gives its memory back; for shorter ones that would be cleared anew each time.
const SPARE_BYTES: usize = 4 << 20;

/// Building a value recurses on the stack of the caller, whose free size is unknown.
const MAX_DEPTH: usize = 100;

/// Puts values on a tape.
pub struct TapeBuilder {
    tape: Tape,
    /// Where its texts are put.
    arena: Arena,
    shapes: Shapes,
    nesting: Nesting,
    /// Recent names, and short strings that occurred a few times, by their hashes.
    names: Box<[u32; SLOTS]>,
    few: Box<[Met; SLOTS]>,
    /// The value has more codes than there is room for.
    is_full: bool,
    /// The object that was begun last is for a JSON parser.
    is_unfit: bool,
    /// The value's strings share no pool with others.
    is_apart: bool,
}

const SLOTS: usize = 512;

/// A short string that was met.
#[derive(Clone, Copy, Default)]
struct Met {
    hash: u32,
    times: u32,
}

impl Default for TapeBuilder {
    fn default() -> Self {
        TapeBuilder {
            tape: Tape::default(),
            arena: Arena::default(),
            shapes: Shapes::default(),
            nesting: Nesting::default(),
            names: Box::new([0; SLOTS]),
            few: Box::new([Met::default(); SLOTS]),
            is_full: false,
            is_unfit: false,
            is_apart: false,
        }
    }
}

impl TapeBuilder {
    /// As [`push`](Self::push), for a value that JavaScript may keep longer than others: none of its strings shares a pool with them.
    pub fn push_apart(&mut self, json: &[u8]) -> bool {
        self.is_apart = true;
        let pushed = self.push(json);
        self.is_apart = false;
        pushed
    }

    /// Appends the value whose JSON is `json`. Returns false, and changes nothing, if there is no room for it. What is not JSON, is nested
    /// too deep, or needs more room than an empty tape has, is appended as its text, as [`Code::Json`].
    pub fn push(&mut self, json: &[u8]) -> bool {
        let before = self.mark();
        self.is_full = false;
        let mut cursor = Cursor::new(json);
        let laid_out = self.value(&mut cursor, 0).and_then(|()| cursor.finish());
        if laid_out.is_err() {
            self.roll_back(before);
            if self.is_full && self.tape.count > 0 || self.tape.codes.len() == MAX_CODES {
                return false;
            }
            self.own_text(Code::Json, OwnText::Json(json.to_vec()));
        }
        self.tape.count += 1;
        true
    }

    /// Appends the object at the cursor, which moves behind it. `member` is called with each of its keys, as it stands between its quotes, and
    /// the place of its value. Returns false if it can't be laid out, or is no object; the tape and the cursor are as they were then, but `member` may have
    /// been called.
    pub fn push_object(&mut self, cursor: &mut Cursor<'_>, member: impl FnMut(&[u8], Span)) -> bool {
        let (before, start) = (self.mark(), cursor.clone());
        self.is_full = false;
        let laid_out = self.has_room() && self.members(cursor, 0, member).is_ok();
        if laid_out {
            self.tape.count += 1;
        } else {
            self.is_unfit = false;
            self.roll_back(before);
            *cursor = start;
        }
        laid_out
    }

    /// Whether the last value was refused because there is no room for it behind the others.
    pub fn is_full(&self) -> bool {
        self.is_full && self.tape.count > 0
    }

    /// How many values were put on the tape.
    pub fn count(&self) -> usize {
        self.tape.count
    }

    /// The tape. Another one has to be [begun](Self::clear) before more is put on it.
    pub fn finish(&mut self) -> FinishedTape {
        let TapeBuilder { tape, arena, .. } = self;
        FinishedTape {
            codes: tape.codes.clone(),
            texts: std::mem::take(&mut tape.texts),
            narrow: arena.text(&tape.narrow),
            wide: arena.text(&tape.wide),
            names: tape.names.clone(),
            name_ends: tape.name_ends.clone(),
            shapes: self.shapes.list(),
        }
    }

    /// Makes room for values of `bytes` of JSON.
    pub fn reserve(&mut self, bytes: usize) {
        self.tape.narrow.reserve(bytes.min(POOL_BYTES) + ROOM);
        self.tape.codes.reserve((bytes / 16).min(MAX_CODES));
    }

    /// Begins another tape, in the memory of this one.
    pub fn clear(&mut self) {
        self.roll_back([0; 5]);
        self.tape.count = 0;
        self.shapes.clear();
        self.few.fill(Met::default());
    }

    fn mark(&self) -> [usize; 5] {
        let Tape { codes, narrow, wide, texts, name_ends, .. } = &self.tape;
        [codes.len(), narrow.len(), wide.len(), texts.len(), name_ends.len()]
    }

    fn roll_back(&mut self, [codes, narrow, wide, texts, names]: [usize; 5]) {
        self.tape.codes.truncate(codes);
        cut(&mut self.tape.narrow, narrow);
        cut(&mut self.tape.wide, wide);
        while self.tape.texts.len() > texts {
            match self.tape.texts.pop() {
                Some(OwnText::Narrow(text)) => self.arena.take_back(text),
                Some(OwnText::Wide(text)) => self.arena.take_back(text),
                Some(OwnText::Json(_)) | None => {}
            }
        }
        self.tape.name_ends.truncate(names);
        self.tape.names.truncate(self.tape.name_ends.last().map_or(0, |end| *end as usize));
    }

    /// An error if the value is not JSON, or can't be laid out.
    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotJson> {
        if depth > MAX_DEPTH || !self.has_room() {
            return Err(NotJson);
        }
        if depth == 0 {
            cursor.white_space();
        }
        match cursor.peek() {
            Some(b'{') => self.object(cursor, depth),
            Some(b'[') => self.array(cursor, depth),
            Some(b'"') => self.string(cursor),
            _ => self.scalar(cursor),
        }
    }

    /// Whether there is room for one more code.
    fn has_room(&mut self) -> bool {
        // A number takes three.
        self.is_full = self.tape.codes.len() + 3 > MAX_CODES;
        !self.is_full
    }

    fn object(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotJson> {
        let (before, start) = (self.mark(), cursor.clone());
        let laid_out = self.members(cursor, depth, |_, _| {});
        if laid_out.is_err() && std::mem::take(&mut self.is_unfit) {
            self.roll_back(before);
            *cursor = start;
            let json = cursor.value_bytes(&mut self.nesting)?;
            self.own_text(Code::Json, OwnText::Json(json.to_vec()));
            return Ok(());
        }
        laid_out
    }

    #[inline]
    fn members(
        &mut self,
        cursor: &mut Cursor<'_>,
        depth: usize,
        mut member: impl FnMut(&[u8], Span),
    ) -> Result<(), NotJson> {
        let (head, mut members, mut shape) = (self.tape.codes.len(), 0, shapes::EMPTY);
        self.tape.codes.push(0);
        cursor.object(|cursor, key| {
            members += 1;
            if members > MAX_MEMBERS || key.len() > MAX_KEY || is_index(key) {
                self.is_unfit = true;
                return Err(NotJson);
            }
            shape = self.shapes.with_key(shape, key);
            let start = cursor.position();
            self.value(cursor, depth + 1)?;
            member(key, cursor.span_from(start));
            Ok(())
        })?;
        self.tape.codes[head] = Code::Object.with(shape as usize);
        Ok(())
    }

    fn array(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotJson> {
        let (before, start) = (self.mark(), cursor.rest());
        let (head, mut values) = (self.tape.codes.len(), 0);
        self.tape.codes.push(0);
        cursor.array(|cursor| {
            values += 1;
            self.value(cursor, depth + 1)
        })?;
        self.tape.codes[head] = Code::Array.with(values);
        if has_fractions_only(&self.tape.codes[head + 1..]) {
            self.roll_back(before);
            let json = &start[..start.len() - cursor.rest().len()];
            self.own_text(Code::Json, OwnText::Json(json.to_vec()));
        }
        Ok(())
    }

    fn scalar(&mut self, cursor: &mut Cursor<'_>) -> Result<(), NotJson> {
        match cursor.value_bytes(&mut self.nesting)? {
            b"true" => self.tape.codes.push(Code::True.with(0)),
            b"false" => self.tape.codes.push(Code::False.with(0)),
            b"null" => self.tape.codes.push(Code::Null.with(0)),
            number => self.number(number)?,
        }
        Ok(())
    }

    fn number(&mut self, json: &[u8]) -> Result<(), NotJson> {
        if json.len() <= 7
            && let Some(value) = small_integer(json)
        {
            self.tape.codes.push(value << 4 | Code::Integer as i32);
            return Ok(());
        }
        // Rust and JavaScript read the same numbers in the same way: to the nearest double.
        let value: f64 = std::str::from_utf8(json).map_err(|_| NotJson)?.parse().map_err(|_| NotJson)?;
        let bits = value.to_ne_bytes();
        let half = |at: usize| i32::from_ne_bytes([bits[at], bits[at + 1], bits[at + 2], bits[at + 3]]);
        self.tape.codes.extend([Code::Number.with(0), half(0), half(4)]);
        Ok(())
    }

    fn string(&mut self, cursor: &mut Cursor<'_>) -> Result<(), NotJson> {
        let rest = cursor.rest();
        // Most are short, without an escape, and need not be decoded.
        let inside = &rest[1..rest.len().min(MAX_NAME + 2)];
        let plain = plain_prefix(inside);
        if inside.get(plain) == Some(&b'"') {
            self.short_string(&inside[..plain]);
            cursor.skip(plain + 2);
            return Ok(());
        }
        let start = self.tape.narrow.len();
        match decode_narrow_onto(&mut self.tape.narrow, &rest[1..]) {
            Ok(length) => {
                cursor.skip(length + 2);
                self.narrow_string(start, &rest[1..=length]);
            }
            Err(at) => {
                let Tape { narrow, wide, .. } = &mut self.tape;
                let wide_start = wide.len();
                wide.extend(narrow[start..].iter().copied().map(u16::from));
                cut(narrow, start);
                let length = decode_wide_onto(wide, &rest[1..], at).ok_or(NotJson)?;
                cursor.skip(length + 2);
                self.wide_string(wide_start, &rest[1..=length]);
            }
        }
        Ok(())
    }

    /// A string that has no escapes.
    fn short_string(&mut self, inside: &[u8]) {
        if inside.len() <= MAX_COPIED && inside.is_ascii() && self.is_rare(inside) {
            self.tape.codes.push(Code::Narrow.with(inside.len()));
            self.tape.narrow.extend_from_slice(inside);
        } else {
            self.name_string(inside);
        }
    }

    /// A string that was decoded onto the end of the pool, from `start` on. It may be better off elsewhere.
    fn narrow_string(&mut self, start: usize, inside: &[u8]) {
        let length = self.tape.narrow.len() - start;
        if inside.len() > MAX_NAME && (length >= OWN_TEXT || self.shares_nothing()) {
            let text = end_of(&mut self.tape.narrow, start, &mut self.arena);
            self.own_text(Code::Text, OwnText::Narrow(text));
        } else if inside.len() <= MAX_NAME && !is_text(inside) {
            self.tape.narrow.truncate(start);
            self.name_string(inside);
        } else {
            self.tape.codes.push(Code::Narrow.with(length));
        }
    }

    /// The same for a string with characters beyond U+00FF, or with bytes that are not UTF-8.
    fn wide_string(&mut self, start: usize, inside: &[u8]) {
        if inside.len() <= MAX_NAME {
            self.tape.wide.truncate(start);
            self.name_string(inside);
        } else if inside.len() < OWN_TEXT && !self.shares_nothing() {
            self.tape.codes.push(Code::Wide.with(self.tape.wide.len() - start));
        } else {
            let text = end_of(&mut self.tape.wide, start, &mut self.arena);
            self.own_text(Code::Text, OwnText::Wide(text));
        }
    }

    fn shares_nothing(&self) -> bool {
        self.is_apart || self.has_full_pools()
    }

    /// Whether further strings get texts of their own, each of which costs JavaScript more than one in a pool.
    pub fn has_full_pools(&self) -> bool {
        self.tape.narrow.len() + 2 * self.tape.wide.len() > POOL_BYTES
    }

    fn name_string(&mut self, inside: &[u8]) {
        let name = self.name(inside);
        self.tape.codes.push(Code::Name.with(name));
    }

    /// Whether a short string was met a few times at most, as far as that is remembered.
    fn is_rare(&mut self, inside: &[u8]) -> bool {
        let hash = hash(inside);
        let met = &mut self.few[slot(hash)];
        if met.hash != hash {
            *met = Met { hash, times: 0 };
        }
        met.times += u32::from(met.times <= FEW);
        met.times <= FEW
    }

    fn is_name(&self, hash: u32, inside: &[u8]) -> bool {
        let index = self.names[slot(hash)] as usize;
        index < self.tape.name_ends.len() && self.tape.name(index) == inside
    }

    /// The number of a name. One that was met may get another number when it is met again, after many others.
    fn name(&mut self, inside: &[u8]) -> usize {
        let hash = hash(inside);
        let slot = slot(hash);
        if self.is_name(hash, inside) {
            return self.names[slot] as usize;
        }
        let index = self.tape.name_ends.len();
        self.tape.names.extend_from_slice(inside);
        self.tape.name_ends.push(self.tape.names.len() as u32);
        self.names[slot] = index as u32;
        index
    }

    fn own_text(&mut self, code: Code, text: OwnText) {
        self.tape.codes.push(code.with(self.tape.texts.len()));
        self.tape.texts.push(text);
    }
}

/// Whether a short string that stands between its quotes as `inside` has several lines, or columns: it occurs only once then, and a name
/// would cost several times as much.
fn is_text(inside: &[u8]) -> bool {
    inside.windows(2).any(|pair| matches!(pair, br"\n" | br"\t"))
}

/// Whether the values of an array are numbers, some of which are no small integers: a parser makes an array of doubles of them, which takes
/// a third of the memory.
fn has_fractions_only(mut codes: &[i32]) -> bool {
    let mut has_fraction = false;
    while let Some(code) = codes.first() {
        let length = match code & 15 {
            kind if kind == Code::Integer as i32 => 1,
            kind if kind == Code::Number as i32 => 3,
            _ => return false,
        };
        has_fraction |= length == 3;
        codes = codes.get(length..).unwrap_or_default();
    }
    has_fraction
}

/// Whether a key is one that arrays have: V8 makes room for all that come before it, except where it parses JSON.
fn is_index(key: &[u8]) -> bool {
    // With an escape it may be one.
    matches!(key, [b'0'..=b'9' | b'\\', ..]) && (key.contains(&b'\\') || key.iter().all(u8::is_ascii_digit))
}

/// The text from `start` on, which the pool ends without.
fn end_of<Unit: Copy>(pool: &mut Vec<Unit>, start: usize, arena: &mut Arena) -> Text<Unit> {
    if size_of_val(&pool[start..]) <= SPARE_BYTES {
        let text = arena.text(&pool[start..]);
        cut(pool, start);
        return text;
    }
    let rest = pool[..start].to_vec();
    let mut text = std::mem::replace(pool, rest);
    text.drain(..start);
    Text::Shared(text.into())
}

/// Removes the units of a pool from `start` on.
fn cut<Unit>(pool: &mut Vec<Unit>, start: usize) {
    pool.truncate(start);
    if pool.capacity() > SPARE_BYTES / size_of::<Unit>() {
        pool.shrink_to(POOL_BYTES);
    }
}

/// The value of a number of few digits and nothing else. Minus zero is none.
fn small_integer(json: &[u8]) -> Option<i32> {
    let (digits, sign) = match json {
        [b'-', digits @ ..] if digits != b"0" => (digits, -1),
        digits => (digits, 1),
    };
    let value = digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i32::from(digit - b'0')))?;
    Some(sign * value)
}

/// Good enough to tell names from each other; one that looks like another is only stored twice.
fn hash(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for bytes in words {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*bytes)).wrapping_mul(FACTOR);
    }
    hash = (hash.rotate_left(23) ^ word(rest)).wrapping_mul(FACTOR);
    // Never what an empty slot holds.
    (hash >> 32) as u32 | 1
}

fn slot(hash: u32) -> usize {
    hash as usize >> 8 & (SLOTS - 1)
}

#[cfg(test)]
mod tests;
