//! Salts, drawn from the system's random source in blocks, because a system call for each event would cost more than the event.

use super::error::{ErrorCode, RunError};
use super::event::SALT_DIGITS;
use crate::run::record::Salt;

/// Size of a salt in bytes.
const SALT_BYTES: usize = SALT_DIGITS / 2;

/// Number of bytes drawn at a time.
const BLOCK_BYTES: usize = 256 * SALT_BYTES;

/// A block of random bytes, some of which are used.
pub(crate) struct Salts {
    block: Box<[u8; BLOCK_BYTES]>,
    used: usize,
}

impl Default for Salts {
    fn default() -> Self {
        Salts { block: Box::new([0; BLOCK_BYTES]), used: BLOCK_BYTES }
    }
}

impl Salts {
    /// The next salt.
    pub(crate) fn draw(&mut self) -> Result<Salt, RunError> {
        if self.used == BLOCK_BYTES {
            getrandom::fill(&mut self.block[..]).map_err(no_random_bytes)?;
            self.used = 0;
        }
        let mut salt = [0; SALT_DIGITS];
        // This can't fail: the target has the right length.
        let _ = const_hex::encode_to_slice(&self.block[self.used..self.used + SALT_BYTES], &mut salt);
        self.used += SALT_BYTES;
        Ok(salt)
    }
}

#[cold]
fn no_random_bytes(error: getrandom::Error) -> RunError {
    RunError::new(ErrorCode::SystemError, format!("The system gave no random bytes for an event's salt: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::is_lower_hex;

    #[test]
    fn salts_are_unique() {
        let mut salts = Salts::default();
        let drawn: Vec<Salt> = (0..1000).map(|_| salts.draw().unwrap()).collect();
        assert!(drawn.iter().all(|salt| is_lower_hex(salt)));
        assert_eq!(drawn.iter().collect::<std::collections::HashSet<_>>().len(), drawn.len());
        let other = Salts::default().draw().unwrap();
        assert!(!drawn.contains(&other));
    }
}
