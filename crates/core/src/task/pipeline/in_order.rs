//! Puts results that arrive in any order into the order of their numbers.

/// Holds results that have arrived before their turn.
pub struct InOrder<T> {
    /// The results with their numbers. There are so few that a linear search is fastest.
    early: Vec<(u64, T)>,
    next: u64,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder { early: Vec::new(), next: 0 }
    }
}

impl<T> InOrder<T> {
    /// Number of results that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.early.len()
    }

    /// The number of the result that is taken next, counted from 0.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Returns the next result. Calls `receive`, which returns results with their numbers in any order, until it has this one; `None` if
    /// `receive` returns `None`.
    pub fn next(&mut self, mut receive: impl FnMut() -> Option<(u64, T)>) -> Option<T> {
        loop {
            if let Some(at) = self.early.iter().position(|(number, _)| *number == self.next) {
                self.next += 1;
                return Some(self.early.swap_remove(at).1);
            }
            self.early.push(receive()?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InOrder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_are_returned_in_order(numbers in Just((0..40).collect::<Vec<u64>>()).prop_shuffle()) {
            let (mut in_order, mut coming) = (InOrder::default(), numbers.iter().map(|&number| (number, number * 7)));
            for number in 0..40 {
                prop_assert_eq!((in_order.next_number(), in_order.next(|| coming.next())), (number, Some(number * 7)));
                prop_assert_eq!(in_order.waiting(), 39 - number as usize - coming.len());
            }
            prop_assert_eq!(in_order.next(|| coming.next()), None);
        }
    }
}
