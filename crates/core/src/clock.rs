//! Wall-clock times in the form that lines use: `2026-02-11T16:00:00.000Z`, as JavaScript's `Date.prototype.toISOString` prints
//! them. The time itself always comes from the caller, so that tests can use a clock of their own.

use std::time::{Duration, UNIX_EPOCH};

/// Range of a JavaScript `Date`, in milliseconds before or after 1970.
const LAST_MILLISECOND: f64 = 8.64e15;

/// Number of years after which the calendar repeats.
const CYCLE_YEARS: i64 = 400;
const CYCLE_MILLISECONDS: i64 = 146_097 * 86_400_000;

/// Formats a time, given in milliseconds since 1970. A time outside the range of a `Date` is clamped to it; NaN counts as 0.
pub fn timestamp(milliseconds: f64) -> String {
    // The cast turns NaN into 0 and discards fractions of a millisecond, as `Date` does.
    let milliseconds = milliseconds.clamp(-LAST_MILLISECOND, LAST_MILLISECOND) as i64;
    let cycles = milliseconds.div_euclid(CYCLE_MILLISECONDS);
    let within = Duration::from_millis(milliseconds.rem_euclid(CYCLE_MILLISECONDS) as u64);
    let printed = humantime::format_rfc3339_millis(UNIX_EPOCH + within).to_string();
    if cycles == 0 { printed } else { moved(&printed, cycles) }
}

/// Moves a printed time of the years 1970 to 2369 by a number of cycles.
fn moved(printed: &str, cycles: i64) -> String {
    let (year, rest) = printed.split_once('-').unwrap_or((printed, ""));
    match year.parse().unwrap_or(0) + cycles * CYCLE_YEARS {
        year @ 0..=9999 => format!("{year:04}-{rest}"),
        year => format!("{year:+07}-{rest}"),
    }
}

/// Formats times and caches the last one, since many events share a millisecond.
#[derive(Debug, Default)]
pub struct Clock {
    milliseconds: f64,
    printed: String,
}

impl Clock {
    /// The time as [`timestamp`] prints it.
    pub fn print(&mut self, milliseconds: f64) -> &str {
        if self.printed.is_empty() || self.milliseconds != milliseconds {
            self.milliseconds = milliseconds;
            self.printed = timestamp(milliseconds);
        }
        &self.printed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_javascript_prints_them() {
        for (milliseconds, printed) in [
            (1_770_825_600_123.0, "2026-02-11T16:00:00.123Z"),
            (0.0, "1970-01-01T00:00:00.000Z"),
            (-0.9, "1970-01-01T00:00:00.000Z"),
            (-1.0, "1969-12-31T23:59:59.999Z"),
            (12_622_780_799_999.0, "2369-12-31T23:59:59.999Z"),
            (12_622_780_800_000.0, "2370-01-01T00:00:00.000Z"),
            (253_402_300_799_999.0, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000.0, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000.0, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001.0, "-000001-12-31T23:59:59.999Z"),
            (-62_162_035_200_000.0, "0000-03-01T00:00:00.000Z"),
            (8.64e15, "+275760-09-13T00:00:00.000Z"),
            (-8.64e15, "-271821-04-20T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(milliseconds), printed, "{milliseconds}");
        }
    }

    #[test]
    fn times_beyond_the_range_of_dates_are_clamped() {
        assert_eq!(timestamp(f64::NAN), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(f64::INFINITY), timestamp(8.64e15));
        assert_eq!(timestamp(f64::NEG_INFINITY), timestamp(-8.64e15));
    }

    #[test]
    fn clock_prints_each_time_regardless_of_earlier_ones() {
        let mut clock = Clock::default();
        for milliseconds in [0.0, 0.0, 1000.0, 1000.0, 0.0] {
            assert_eq!(clock.print(milliseconds), timestamp(milliseconds));
        }
    }
}
