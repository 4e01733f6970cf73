//! JSON values as a tape: the values that `JSON.parse` would build, as a flat list of codes, with their strings in a few pools.
//!
//! The tape reader builds the values: it reads one code after another and cuts the strings from the pools. Nothing has to be scanned, unescaped or
//! decoded again. V8 itself parses the text of values that it builds better. As everywhere, a value means what it means in JavaScript (`docs/session-format.md` section 2).

mod arena;
mod layout;
mod shapes;

use self::arena::Arena;
pub use self::arena::{Shared, Text};
pub use self::layout::{ItemTape, ItemTapes, Layout, LayoutBackoff, TAPE_BYTES};
use self::shapes::{ShapeList, Shapes};
use session_tape_core::json::{Cursor, Nesting, NotJson, Span, plain_prefix};

/// A replay whose items are laid out on tapes.
pub type Replay = session_tape_core::session::read::Replay<Layout>;

/// The kind of a code, which is in its lowest four bits. The other bits are the number of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// An object of the [shape](FinishedTape::shapes) with this number. Its values follow.
    Object = 0,
    /// An array with this number of values, which follow.
    Array = 1,
    /// A string with this number of characters, the next ones of [`Tape::narrow`].
    Narrow = 2,
    /// A string with this number of UTF-16 units, the next ones of [`Tape::wide`].
    Wide = 3,
    /// A string: the name with this number.
    Name = 4,
    /// A string: the text with this number in [`Tape::texts`].
    Text = 5,
    /// A value that a JSON parser builds better. Its JSON is the text with this number in [`Tape::texts`].
    Json = 6,
    /// This integer.
    Integer = 7,
    /// Any other number. The next two codes are the bits of the double, in the order that they have in memory.
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
    /// A string of characters up to U+00FF, one byte each.
    Narrow(Text<u8>),
    /// A string, in UTF-16.
    Wide(Text<u16>),
    /// JSON text, as in the file.
    Json(Vec<u8>),
}

/// A tape that is being built.
#[derive(Default)]
struct Tape {
    /// Number of values.
    count: usize,
    /// The codes of the values.
    codes: Vec<i32>,
    /// Strings of characters up to U+00FF, one byte each.
    narrow: Vec<u8>,
    /// Strings with other characters, in UTF-16.
    wide: Vec<u16>,
    /// Texts that are too long for a pool, where a short string that JavaScript keeps would keep them in memory.
    texts: Vec<OwnText>,
    /// The names one after another, as written between the quotes of JSON strings, and the end of each.
    names: Vec<u8>,
    name_ends: Vec<u32>,
}

impl Tape {
    fn name(&self, index: usize) -> &[u8] {
        name_of(&self.names, &self.name_ends, index)
    }
}

#[inline]
fn name_of<'n>(names: &'n [u8], ends: &[u32], index: usize) -> &'n [u8] {
    let start = index.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &names[start..ends[index] as usize]
}

/// A complete tape, its texts in memory that JavaScript can read in place.
pub struct FinishedTape {
    /// The codes of the values.
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
    /// The names, as written between the quotes of JSON strings: short strings, which often recur.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.name_ends.len()).map(|index| name_of(&self.names, &self.name_ends, index))
    }
}

/// Maximum number of codes on a tape: they are passed to JavaScript in a buffer of this length. Lower under Miri, which would take minutes to fill
/// it.
pub const MAX_CODES: usize = if cfg!(miri) { 1 << 10 } else { 32 << 10 };

/// Maximum length of a name in bytes. Most ids are that short. If such a string were cut from a pool, it would keep the whole pool in memory.
const MAX_NAME: usize = 40;

/// Maximum length of a key in bytes. Objects with longer keys are left to a JSON parser, since all shapes are passed in one text.
const MAX_KEY: usize = 1 << 10;

/// Maximum number of members. Larger objects are left to a JSON parser: if they were built member by member, V8 would make dictionaries of them,
/// which are large and slow.
const MAX_MEMBERS: usize = 16;

/// Up to this length in bytes, a string that occurs only a few times costs less to copy from a pool than a name does.
const MAX_COPIED: usize = 12;
const FEW: u32 = 3;

/// Minimum length of strings that get a text of their own instead of a place in a pool.
const OWN_TEXT: usize = 4 << 10;

/// Approximate maximum size of the pools in bytes: a string that JavaScript keeps keeps its whole pool in memory.
const POOL_BYTES: usize = 256 << 10;

/// A string of more bytes takes over the memory of its pool, since a copy would need as much memory again. A pool whose capacity has grown beyond
/// this is shrunk when its string is removed; smaller ones keep their memory, which the system would otherwise have to clear again each time.
const SPARE_BYTES: usize = 4 << 20;

/// Maximum depth of a value. Laying it out and building it are recursive, on stacks whose free size is unknown.
const MAX_DEPTH: usize = 100;

/// Lays out values on a tape.
pub struct TapeBuilder {
    tape: Tape,
    /// The memory for its texts.
    arena: Arena,
    shapes: Shapes,
    nesting: Nesting,
    /// Recent names, and how often recent short strings occurred, in the slots of their hashes.
    names: Box<[u32; SLOTS]>,
    few: Box<[Met; SLOTS]>,
    /// The last value needs more codes than there is room for.
    is_full: bool,
    /// The object that was begun last is to be left to a JSON parser.
    is_unfit: bool,
    /// The value's long strings must not share a pool with others.
    is_apart: bool,
}

const SLOTS: usize = 512;

/// A short string that occurred.
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
    /// Like [`push`](Self::push), for a value that JavaScript may keep longer than others: none of its long strings shares a pool with them.
    pub fn push_apart(&mut self, json: &[u8]) -> bool {
        self.is_apart = true;
        let pushed = self.push(json);
        self.is_apart = false;
        pushed
    }

    /// Appends the value with the text `json`. Returns false, and changes nothing, if there is no room for it. Text that is not JSON, is nested too
    /// deeply, or needs more room than an empty tape has, is appended as it is, as [`Code::Json`].
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

    /// Appends the object at the cursor, and moves the cursor past it. Calls `member` with each key, as written between its quotes, and the span of
    /// its value. Returns false if the object can't be laid out, or if the value is not an object; the tape and the cursor are then unchanged, but
    /// `member` may have been called.
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

    /// Whether the last value was refused because there is no room for it after the others.
    pub fn is_full(&self) -> bool {
        self.is_full && self.tape.count > 0
    }

    /// Number of values on the tape.
    pub fn count(&self) -> usize {
        self.tape.count
    }

    /// Returns the complete tape. [`clear`](Self::clear) must be called before the next value is pushed.
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

    /// Reserves memory for values with `bytes` bytes of JSON.
    pub fn reserve(&mut self, bytes: usize) {
        self.tape.narrow.reserve(bytes.min(POOL_BYTES) + Cursor::ROOM);
        self.tape.codes.reserve((bytes / 16).min(MAX_CODES));
    }

    /// Begins a new tape in the memory of this one.
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

    /// Lays out the value at the cursor. Returns an error if it is not JSON, or can't be laid out.
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

    /// Whether there is room for the codes of one more value, without those of its members or elements.
    fn has_room(&mut self) -> bool {
        // A number takes three codes.
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
        // Rust and JavaScript parse numbers in the same way: to the nearest double.
        let value: f64 = std::str::from_utf8(json).map_err(|_| NotJson)?.parse().map_err(|_| NotJson)?;
        let bits = value.to_ne_bytes();
        let half = |at: usize| i32::from_ne_bytes([bits[at], bits[at + 1], bits[at + 2], bits[at + 3]]);
        self.tape.codes.extend([Code::Number.with(0), half(0), half(4)]);
        Ok(())
    }

    fn string(&mut self, cursor: &mut Cursor<'_>) -> Result<(), NotJson> {
        let rest = cursor.rest();
        // Most strings are short and have no escapes, so they need not be decoded.
        let inside = &rest[1..rest.len().min(MAX_NAME + 2)];
        let plain = plain_prefix(inside);
        if inside.get(plain) == Some(&b'"') {
            self.short_string(&inside[..plain]);
            cursor.skip(plain + 2);
            return Ok(());
        }
        // The string that fills the pools is still in one.
        let shares_nothing = self.is_apart || self.has_full_pools();
        let start = self.tape.narrow.len();
        match cursor.narrow_string(&mut self.tape.narrow) {
            Ok(inside) => self.narrow_string(start, inside, shares_nothing),
            Err(at) => {
                let Tape { narrow, wide, .. } = &mut self.tape;
                let wide_start = wide.len();
                if wide.capacity() == 0 {
                    // If one string of the first tape is wide, most probably are.
                    wide.reserve(narrow.capacity().min(POOL_BYTES));
                }
                wide.extend(narrow[start..].iter().copied().map(u16::from));
                cut(narrow, start);
                let inside = cursor.wide_string(wide, at)?;
                self.wide_string(wide_start, inside, shares_nothing);
            }
        }
        Ok(())
    }

    /// Lays out a short string without escapes.
    fn short_string(&mut self, inside: &[u8]) {
        if inside.len() <= MAX_COPIED && inside.is_ascii() && self.is_rare(inside) {
            self.tape.codes.push(Code::Narrow.with(inside.len()));
            self.tape.narrow.extend_from_slice(inside);
        } else {
            self.name_string(inside);
        }
    }

    /// Lays out a string that was decoded onto the end of the pool, from `start` on, or moves it to where it costs less.
    fn narrow_string(&mut self, start: usize, inside: &[u8], shares_nothing: bool) {
        let length = self.tape.narrow.len() - start;
        if inside.len() > MAX_NAME && (length >= OWN_TEXT || shares_nothing) {
            let text = end_of(&mut self.tape.narrow, start, &mut self.arena);
            self.own_text(Code::Text, OwnText::Narrow(text));
        } else if inside.len() <= MAX_NAME && !is_text(inside) {
            self.tape.narrow.truncate(start);
            self.name_string(inside);
        } else {
            self.tape.codes.push(Code::Narrow.with(length));
        }
    }

    /// Like [`narrow_string`](Self::narrow_string), for a string with characters beyond U+00FF, or with bytes that are not UTF-8.
    fn wide_string(&mut self, start: usize, inside: &[u8], shares_nothing: bool) {
        if inside.len() <= MAX_NAME {
            self.tape.wide.truncate(start);
            self.name_string(inside);
        } else if inside.len() < OWN_TEXT && !shares_nothing {
            self.tape.codes.push(Code::Wide.with(self.tape.wide.len() - start));
        } else {
            let text = end_of(&mut self.tape.wide, start, &mut self.arena);
            self.own_text(Code::Text, OwnText::Wide(text));
        }
    }

    /// Whether the pools are full. Further strings then get texts of their own, each of which costs JavaScript more than a string in a pool.
    pub fn has_full_pools(&self) -> bool {
        self.tape.narrow.len() + 2 * self.tape.wide.len() > POOL_BYTES
    }

    fn name_string(&mut self, inside: &[u8]) {
        let name = self.name(inside);
        self.tape.codes.push(Code::Name.with(name));
    }

    /// Whether a short string occurred a few times at most, as far as that is remembered.
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

    /// The number of a name. A name that recurs after many others may get another number.
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

/// Whether a short string, given as written between its quotes, has several lines or columns. Such a string rarely recurs, and a name would cost
/// several times as much.
fn is_text(inside: &[u8]) -> bool {
    inside.windows(2).any(|pair| matches!(pair, br"\n" | br"\t"))
}

/// Whether an array has only numbers, of which at least one is not a small integer. A JSON parser builds an array of doubles from them, which takes a
/// third of the memory.
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

/// Whether a key is an array index. V8 allocates room for all elements before it, except when it parses JSON.
#[inline]
fn is_index(key: &[u8]) -> bool {
    // With an escape it may be an index.
    matches!(key, [b'0'..=b'9' | b'\\', ..]) && (key.contains(&b'\\') || key.iter().all(u8::is_ascii_digit))
}

/// Removes the text from `start` on from a pool, and returns it.
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
#[inline]
fn cut<Unit>(pool: &mut Vec<Unit>, start: usize) {
    pool.truncate(start);
    if pool.capacity() > SPARE_BYTES / size_of::<Unit>() {
        pool.shrink_to(POOL_BYTES);
    }
}

/// The value of an integer of a few digits; `None` for any other number, and for minus zero.
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

/// A fast hash. Collisions are harmless: a name that collides with another may only be stored twice.
fn hash(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for bytes in words {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*bytes)).wrapping_mul(FACTOR);
    }
    hash = (hash.rotate_left(23) ^ word(rest)).wrapping_mul(FACTOR);
    // Never 0, which an empty slot holds.
    (hash >> 32) as u32 | 1
}

fn slot(hash: u32) -> usize {
    hash as usize >> 8 & (SLOTS - 1)
}

#[cfg(test)]
mod tests;
