//! Simple case folding, as `/…/iu` compares characters in JavaScript.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// All characters that fold to the same character as `c`, `c` among them, in ascending order.
pub(super) fn equivalents(c: char) -> Vec<char> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    // Fails only without the table.
    let _ = class.try_case_fold_simple();
    class.iter().flat_map(|range| range.start()..=range.end()).collect()
}

#[cfg(test)]
mod tests {
    use super::equivalents;

    #[test]
    fn characters_of_one_letter_are_equivalent_and_no_others() {
        assert_eq!(equivalents('a'), ['A', 'a']);
        assert_eq!(equivalents('K'), ['K', 'k', '\u{212a}']);
        assert_eq!(equivalents('ſ'), ['S', 's', 'ſ']);
        assert_eq!(equivalents('ß'), ['ß', 'ẞ']);
        assert_eq!(equivalents('7'), ['7']);
        // Full folding would make these two.
        assert_eq!(equivalents('ﬀ'), ['ﬀ']);
        assert_eq!(equivalents('ı'), ['ı']);
    }
}
