//! The members of an object by their names.

use super::decode::spells;
use super::scan::{Cursor, Nesting, NotJson, Span};

impl Cursor<'_> {
    /// Moves over an object. Returns the last value of each of these keys, which are ASCII.
    pub(crate) fn members<const N: usize>(
        &mut self,
        names: [&str; N],
        nesting: &mut Nesting,
    ) -> Result<[Option<Span>; N], NotJson> {
        let mut values = [None; N];
        self.object(|cursor, key| {
            let value = cursor.value(nesting)?;
            if let Some(at) = names.iter().position(|name| spells(key, name)) {
                values[at] = Some(value);
            }
            Ok(())
        })?;
        Ok(values)
    }
}
