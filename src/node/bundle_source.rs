//! Where readers read from: what is at a path, a bundle opened and verified first.

use std::path::Path;

use super::bundles::Work;
use crate::bundle::import::ImportError;
use crate::bundle::open::{Opened, open};
use crate::bundle::verify::VerifyOptions;
use crate::bundle::watch::{Progress, Watch};
use crate::signature::TrustedKeys;

/// How a refusal begins.
pub const CANT_BE_READ: &str = "The bundle can't be read";

/// Opens what is at `path`. A bundle is verified; if `trusted` are any, one of them must have signed it if anybody did.
pub fn open_source(
    path: &str,
    trusted: TrustedKeys,
    work: &Work,
    progress: &mut dyn FnMut(Progress),
) -> Result<Opened, ImportError> {
    let options = VerifyOptions { trusted, ..VerifyOptions::default() };
    open(Path::new(path), &options, &mut Watch { cancelled: work.cancelled(), progress })
}

/// How far reading a bundle is: half of it is verifying, the other half is what it is read for. An original has nothing but the latter.
#[derive(Default)]
pub struct Halves {
    verified: Option<u64>,
}

impl Halves {
    /// Of verifying: bytes done, and in all.
    pub fn verifying(&mut self, progress: Progress) -> (u64, u64) {
        self.verified = Some(progress.total);
        (progress.bytes / 2, progress.total)
    }

    /// Of what comes then.
    pub fn reading(&self, bytes: u64, total: u64) -> (u64, u64) {
        let Some(whole) = self.verified else { return (bytes, total) };
        let half = whole / 2;
        let share = u128::from(whole - half) * u128::from(bytes.min(total)) / u128::from(total.max(1));
        (half + share as u64, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_make_a_whole_that_only_grows() {
        let mut halves = Halves::default();
        assert_eq!(halves.reading(3, 7), (3, 7));
        let verifying = [0, 50, 101].map(|bytes| halves.verifying(Progress { bytes, total: 101, files: 0 }));
        assert_eq!(verifying, [(0, 101), (25, 101), (50, 101)]);
        let reading = [0, 500, 1000].map(|bytes| halves.reading(bytes, 1000));
        assert_eq!(reading, [(50, 101), (75, 101), (101, 101)]);
    }
}
