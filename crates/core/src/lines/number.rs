//! A long number, of which its value is kept and not its text.

/// Length in bytes of the longest number that is kept as it is written.
const KEPT_BYTES: usize = 1 << 10;

/// Number of digits that the nearest double can depend on. All that matters about the digits behind them is whether one is not zero.
const DIGITS: usize = 800;

/// A limit of exponents that is far from those of doubles, also if a number has as many digits as a line has bytes.
const MAX_EXPONENT: i64 = 1 << 40;

/// A number, added byte by byte. Its value is 0.`digits` · 10^(`exponent` ± `written`).
#[derive(Debug)]
pub(super) struct Number {
    /// Where it begins in the abridged line.
    pub(super) start: usize,
    length: usize,
    is_negative: bool,
    /// From the first one on that is not zero.
    digits: Vec<u8>,
    /// A digit behind these is not zero.
    has_rest: bool,
    exponent: i64,
    /// The exponent that is written in the number, without its sign.
    written: i64,
    is_written_negative: bool,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Integer,
    Fraction,
    Exponent,
}

impl Number {
    /// A number that begins with this byte at `start`.
    pub(super) fn begin(first: u8, start: usize) -> Self {
        let mut number = Number {
            start,
            length: 0,
            is_negative: false,
            digits: Vec::new(),
            has_rest: false,
            exponent: 0,
            written: 0,
            is_written_negative: false,
            part: Part::Integer,
        };
        number.add(first);
        number
    }

    /// Adds the next byte. Returns whether it is kept as it is.
    pub(super) fn add(&mut self, byte: u8) -> bool {
        self.length += 1;
        match (byte, self.part) {
            (b'.', _) => self.part = Part::Fraction,
            (b'e' | b'E', _) => self.part = Part::Exponent,
            (b'-', Part::Exponent) => self.is_written_negative = true,
            (b'-', _) => self.is_negative = true,
            (b'0'..=b'9', Part::Exponent) => {
                self.written = (self.written * 10 + i64::from(byte - b'0')).min(MAX_EXPONENT);
            }
            (b'0'..=b'9', part) => self.add_digit(byte, part),
            _ => {}
        }
        self.length <= KEPT_BYTES
    }

    fn add_digit(&mut self, digit: u8, part: Part) {
        let is_leading = digit == b'0' && self.digits.is_empty();
        match part {
            Part::Integer if !is_leading => self.exponent += 1,
            Part::Fraction if is_leading => self.exponent -= 1,
            _ => {}
        }
        if self.digits.len() >= DIGITS {
            self.has_rest |= digit != b'0';
        } else if !is_leading {
            self.digits.push(digit);
        }
    }

    /// A number of the same value, if this one is too long.
    pub(super) fn shorter(&self) -> Option<String> {
        if self.length <= KEPT_BYTES {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        if self.digits.is_empty() {
            return Some(format!("{sign}0.0"));
        }
        let digits = String::from_utf8_lossy(&self.digits);
        let rest = if self.has_rest { "1" } else { "" };
        let written = if self.is_written_negative { -self.written } else { self.written };
        Some(format!("{sign}0.{digits}{rest}e{}", self.exponent + written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorter(number: &str) -> Option<String> {
        let mut bytes = number.bytes();
        let mut read = Number::begin(bytes.next().unwrap(), 0);
        bytes.for_each(|byte| {
            read.add(byte);
        });
        read.shorter()
    }

    #[test]
    fn a_long_number_keeps_its_value() {
        let (zeros, nines) = ("0".repeat(2000), "9".repeat(2000));
        let half = format!("{:.60}", f64::from_bits(1.0_f64.to_bits() + 1) / 2.0 + 0.5);
        for number in [
            nines.clone(),
            format!("-{nines}"),
            format!("1{zeros}"),
            format!("1{zeros}e-2000"),
            format!("-1{zeros}.5e-2000"),
            format!("12.5{zeros}"),
            format!("9007199254740993.{zeros}"),
            format!("9007199254740993.{zeros}1"),
            format!("9007199254740992.{zeros}9"),
            format!("0.{zeros}12345e2003"),
            format!("0.{zeros}1"),
            format!("0.{zeros}"),
            format!("-0.{zeros}e5"),
            format!("1e{zeros}3"),
            format!("1e-{zeros}3"),
            format!("1E+{nines}"),
            format!("1e-{nines}"),
            format!("{half}{zeros}7"),
        ] {
            let short = shorter(&number).unwrap();
            assert!(short.len() < KEPT_BYTES, "{short}");
            assert_eq!(short.parse::<f64>().unwrap().to_bits(), number.parse::<f64>().unwrap().to_bits(), "{short}");
        }
        assert_eq!(shorter("12.5"), None);
    }
}
