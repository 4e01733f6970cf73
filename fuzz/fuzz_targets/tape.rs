//! Any bytes on a tape: if an independent parser accepts them as JSON, the tape reads back as the same value, and all of the tape is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use session_tape_core::json::decode;
use tape::{FinishedTape, MAX_CODES, OwnText, TapeBuilder};

// Part of the addon, which no program can be linked with.
#[allow(dead_code, unused_imports)]
#[path = "../../src/tape/mod.rs"]
mod tape;

struct Reader<'a> {
    tape: &'a FinishedTape,
    names: Vec<&'a [u8]>,
    /// The keys of each shape.
    shapes: Vec<Vec<String>>,
    codes: std::slice::Iter<'a, i32>,
    narrow: &'a [u8],
    wide: &'a [u16],
}

impl Reader<'_> {
    fn code(&mut self) -> i32 {
        *self.codes.next().expect("a code")
    }

    fn name(&self, index: i32) -> String {
        text(decode(self.names[index as usize]).collect())
    }

    fn value(&mut self) -> Value {
        let code = self.code();
        let number = code >> 4;
        match code & 15 {
            0 => {
                let keys = self.shapes[number as usize].clone();
                keys.into_iter().map(|key| (key, self.value())).collect::<Map<_, _>>().into()
            }
            1 => (0..number).map(|_| self.value()).collect(),
            2 => {
                let (taken, rest) = self.narrow.split_at(number as usize);
                self.narrow = rest;
                text(taken.iter().map(|byte| u16::from(*byte)).collect()).into()
            }
            3 => {
                let (taken, rest) = self.wide.split_at(number as usize);
                self.wide = rest;
                text(taken.to_vec()).into()
            }
            4 => self.name(number).into(),
            5 | 6 => match &self.tape.texts[number as usize] {
                OwnText::Narrow(bytes) => text(bytes.units().iter().map(|byte| u16::from(*byte)).collect()).into(),
                OwnText::Wide(units) => text(units.units().to_vec()).into(),
                OwnText::Json(json) => serde_json::from_slice(json).unwrap_or_default(),
            },
            7 => f64::from(number).into(),
            8 => {
                let halves = [self.code(), self.code()].map(i32::to_ne_bytes);
                f64::from_ne_bytes(halves.concat().try_into().expect("eight bytes")).into()
            }
            9 => true.into(),
            10 => false.into(),
            11 => Value::Null,
            kind => panic!("no such kind: {kind}"),
        }
    }
}

fn text(units: Vec<u16>) -> String {
    String::from_utf16_lossy(&units)
}

/// Compares numbers as doubles, as JavaScript does, with some tolerance because serde_json is sometimes slightly off.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
        }
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && found.iter().all(|(key, found)| expected.get(key).is_some_and(|expected| same(found, expected)))
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap_or_default(), expected.as_f64().unwrap_or_default());
            (found - expected).abs() <= expected.abs() * 1e-15
        }
        _ => found == expected,
    }
}

fuzz_target!(|json: &[u8]| {
    let mut builder = TapeBuilder::default();
    builder.reserve(json.len());
    assert!(builder.push(json));
    builder.push(json);
    let count = builder.count();
    let tape = builder.finish();
    assert!(tape.codes.len() <= MAX_CODES);
    let mut shapes: Vec<Vec<String>> = vec![Vec::new()];
    for (extended, key) in tape.shapes.iter() {
        let key = text(decode(key).collect());
        shapes.push([&shapes[extended as usize][..], &[key]].concat());
    }
    let mut reader = Reader {
        tape: &tape,
        names: tape.names().collect(),
        shapes,
        codes: tape.codes.iter(),
        narrow: tape.narrow.units(),
        wide: tape.wide.units(),
    };
    let expected = serde_json::from_slice::<Value>(json).ok();
    for _ in 0..count {
        let value = reader.value();
        if let Some(expected) = &expected {
            assert!(same(&value, expected), "{value} is not {expected}");
        }
    }
    assert!(reader.codes.as_slice().is_empty() && reader.narrow.is_empty() && reader.wide.is_empty());
});
