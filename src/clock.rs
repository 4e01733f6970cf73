//! Wall-clock times as lines have them: `2026-02-11T16:00:00.000Z`. The time itself always comes from the caller, whose clock may be
//! one that a test has stopped.

use std::time::{Duration, UNIX_EPOCH};

/// The last millisecond that four digits of a year can tell.
const LAST_MILLISECOND: f64 = 253_402_300_799_999.0;

/// A point in time, from milliseconds since 1970.
pub fn timestamp(milliseconds: f64) -> String {
    // A comparison with NaN is false, and NaN becomes 0 like everything before 1970.
    let milliseconds = if milliseconds > 0.0 { milliseconds.min(LAST_MILLISECOND) as u64 } else { 0 };
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(milliseconds)).to_string()
}

/// The last time that was printed: many events share a millisecond.
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
    fn times_beyond_the_calendar_are_clamped() {
        assert_eq!(timestamp(1_770_825_600_123.0), "2026-02-11T16:00:00.123Z");
        assert_eq!(timestamp(-1.0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(f64::NAN), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(f64::INFINITY), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn each_time_is_printed_anew() {
        let mut clock = Clock::default();
        for milliseconds in [0.0, 0.0, 1000.0, 1000.0, 0.0] {
            assert_eq!(clock.print(milliseconds), timestamp(milliseconds));
        }
    }
}
