//! Validates JSON byte by byte, for text of which not everything is kept in memory.

use crate::json::{Nesting, NotJson};

/// A JSON text that is passed byte by byte, except the insides of its strings, which are up to the caller. Accepts what the
/// [`Cursor`](crate::json::Cursor) accepts. That the text is complete is not checked.
#[derive(Debug, Default)]
pub(super) struct Validator {
    nesting: Nesting,
    expected: Expected,
    token: Token,
}

/// What the grammar allows at a place between tokens.
#[derive(Clone, Copy, Debug, Default)]
enum Expected {
    #[default]
    Value,
    FirstElement,
    Key,
    FirstKey,
    Colon,
    /// A comma or a closing bracket; outside of all brackets only white space.
    Delimiter,
}

#[derive(Clone, Copy, Debug, Default)]
enum Token {
    #[default]
    None,
    /// A literal that lacks these bytes.
    Literal(&'static [u8]),
    Number(Number),
}

/// The part of a number that the last byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// What a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// White space between tokens.
    Space,
    /// The opening bracket of an object or array.
    Open,
    /// A closing bracket.
    Close,
    /// A comma between elements.
    Comma,
    /// The colon after a key.
    Colon,
    /// The opening quote of a key. The next step is behind its closing quote.
    Key,
    /// The opening quote of a string that is a value. The next step is behind its closing quote.
    String,
    /// The first byte of a number, `true`, `false` or `null`.
    Scalar,
    /// A further byte of one.
    Rest,
    /// A digit of a number that follows another one. The number is valid without it too.
    FurtherDigit,
}

impl Number {
    /// The part that the next byte belongs to; `None` if it does not continue the number.
    fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Number::Minus, b'0') => Some(Number::Zero),
            (Number::Minus | Number::Integer, b'0'..=b'9') => Some(Number::Integer),
            (Number::Zero | Number::Integer, b'.') => Some(Number::Point),
            (Number::Point | Number::Fraction, b'0'..=b'9') => Some(Number::Fraction),
            (Number::Zero | Number::Integer | Number::Fraction, b'e' | b'E') => Some(Number::E),
            (Number::E, b'+' | b'-') => Some(Number::Sign),
            (Number::E | Number::Sign | Number::Exponent, b'0'..=b'9') => Some(Number::Exponent),
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        matches!(self, Number::Zero | Number::Integer | Number::Fraction | Number::Exponent)
    }
}

impl Validator {
    /// The number of brackets that are open.
    pub(super) fn depth(&self) -> usize {
        self.nesting.depth()
    }

    /// Whether the innermost open bracket is that of an object.
    pub(super) fn in_object(&self) -> bool {
        self.depth() > 0 && self.nesting.in_object()
    }

    /// Passes the next byte. The text can't be JSON if that is an error.
    pub(super) fn step(&mut self, byte: u8) -> Result<Step, NotJson> {
        match self.token {
            Token::None => self.between_tokens(byte),
            Token::Literal([next, rest @ ..]) => {
                self.token = if rest.is_empty() { Token::None } else { Token::Literal(rest) };
                if byte == *next { Ok(Step::Rest) } else { Err(NotJson) }
            }
            Token::Literal([]) => Err(NotJson),
            Token::Number(number) => match number.next(byte) {
                Some(next) => {
                    self.token = Token::Number(next);
                    Ok(if next == number { Step::FurtherDigit } else { Step::Rest })
                }
                None if number.may_end() => {
                    self.token = Token::None;
                    self.between_tokens(byte)
                }
                None => Err(NotJson),
            },
        }
    }

    fn between_tokens(&mut self, byte: u8) -> Result<Step, NotJson> {
        match (byte, self.expected) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => Ok(Step::Space),
            (b'"', Expected::Key | Expected::FirstKey) => self.expect(Expected::Colon, Step::Key),
            (b':', Expected::Colon) => self.expect(Expected::Value, Step::Colon),
            (b',', Expected::Delimiter) if self.depth() > 0 => {
                let next = if self.in_object() { Expected::Key } else { Expected::Value };
                self.expect(next, Step::Comma)
            }
            (b'}', Expected::Delimiter | Expected::FirstKey) if self.in_object() => self.close(),
            (b']', Expected::Delimiter | Expected::FirstElement) if self.depth() > 0 && !self.in_object() => {
                self.close()
            }
            (_, Expected::Value | Expected::FirstElement) => self.value(byte),
            _ => Err(NotJson),
        }
    }

    fn value(&mut self, byte: u8) -> Result<Step, NotJson> {
        self.token = match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                self.nesting.open(is_object);
                return self.expect(if is_object { Expected::FirstKey } else { Expected::FirstElement }, Step::Open);
            }
            b'"' => return self.expect(Expected::Delimiter, Step::String),
            b'-' => Token::Number(Number::Minus),
            b'0' => Token::Number(Number::Zero),
            b'1'..=b'9' => Token::Number(Number::Integer),
            b't' => Token::Literal(b"rue"),
            b'f' => Token::Literal(b"alse"),
            b'n' => Token::Literal(b"ull"),
            _ => return Err(NotJson),
        };
        self.expect(Expected::Delimiter, Step::Scalar)
    }

    fn close(&mut self) -> Result<Step, NotJson> {
        self.nesting.close();
        self.expect(Expected::Delimiter, Step::Close)
    }

    fn expect(&mut self, expected: Expected, step: Step) -> Result<Step, NotJson> {
        self.expected = expected;
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;

    fn accepts(text: &str) -> bool {
        let mut validator = Validator::default();
        text.bytes().all(|byte| validator.step(byte).is_ok()) && validator.depth() == 0
    }

    #[test]
    fn accepts_exactly_the_texts_that_the_scanner_accepts() {
        for alphabet in ["-01.e+ ", "[]{},: ", "[nul,] ", "tru]efals"] {
            let mut texts = vec![String::new()];
            for _ in 0..6 {
                texts =
                    texts.iter().flat_map(|text| alphabet.chars().map(move |next| format!("{text}{next}"))).collect();
                for text in &texts {
                    let array = format!("[{text}]");
                    assert_eq!(accepts(&array), Cursor::is_value(array.as_bytes(), &mut Nesting::default()), "{array}");
                }
                // Only beginnings of what can be valid are continued, which keeps the number of texts small.
                texts.retain(|text| {
                    let mut validator = Validator::default();
                    format!("[{text}").bytes().all(|byte| validator.step(byte).is_ok())
                });
            }
        }
    }
}
