//! The place of an event is its index among the events compared. An event that is not compared has no place: a reference to it counts as
//! a reference to the nearest compared event before it.

/// The events of a log that are not compared. Takes two bits for each event up to the last one left out, and nothing if all events are
/// compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The logical time at which the comparison begins.
    start: u64,
    /// For each 64 events, a bit mask of those left out, and the number of events left out before them.
    words: Vec<(u64, u64)>,
    left_out: u64,
}

impl Places {
    /// The places of a log of which all is compared.
    pub(crate) const ALL: &Self = &Places { start: 0, words: Vec::new(), left_out: 0 };

    /// The places of a log that is compared from the event at `start` on.
    pub(crate) fn from(start: u64) -> Self {
        Places { start, ..Places::default() }
    }

    /// Leaves out the event at `time`. Times must be passed in ascending order.
    pub(crate) fn leave_out(&mut self, time: u64) {
        let at = time.saturating_sub(self.start);
        let (word, bit) = ((at / 64) as usize, at % 64);
        while self.words.len() <= word {
            self.words.push((0, self.left_out));
        }
        self.words[word].0 |= 1 << bit;
        self.left_out += 1;
    }

    /// Returns the place of the event at `time`; if it is not compared, that of the nearest compared event before it. Negative before
    /// the start of the comparison.
    #[inline]
    pub(crate) fn of(&self, time: u64) -> i64 {
        let at = time as i64 - self.start as i64;
        if self.left_out == 0 || at < 0 {
            return at;
        }
        at - self.left_out_until(at as u64) as i64
    }

    /// Number of events left out, up to and including the one at offset `at` from the start.
    fn left_out_until(&self, at: u64) -> u64 {
        match self.words.get((at / 64) as usize) {
            Some((bits, before)) => before + u64::from((bits << (63 - at % 64)).count_ones()),
            None => self.left_out,
        }
    }

    /// Whether the event at `time` is compared.
    pub(crate) fn holds(&self, time: u64) -> bool {
        let Some(at) = time.checked_sub(self.start) else { return false };
        self.words.get((at / 64) as usize).is_none_or(|(bits, _)| bits >> (at % 64) & 1 == 0)
    }

    /// Whether each place is the logical time minus the start.
    #[inline]
    pub(crate) fn are_plain(&self) -> bool {
        self.left_out == 0
    }

    /// The logical time at which the comparison begins.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn place_is_the_number_of_earlier_calls(start in 0u64..200, left_out in proptest::collection::vec(any::<bool>(), 0..300)) {
            let mut places = Places::from(start);
            let mut compared = -1;
            for (time, left_out) in (start..).zip(&left_out) {
                if *left_out { places.leave_out(time) } else { compared += 1 }
                prop_assert_eq!((places.of(time), places.holds(time)), (compared, !left_out));
            }
            let end = start + left_out.len() as u64;
            prop_assert_eq!(places.of(end + 70), compared + 71);
            let mut again = -1;
            for (time, left_out) in (start..).zip(&left_out) {
                again += i64::from(!left_out);
                prop_assert_eq!(places.of(time), again, "seen from the end");
            }
            for before in 0..start {
                prop_assert_eq!(places.of(before), before as i64 - start as i64);
            }
        }
    }
}
