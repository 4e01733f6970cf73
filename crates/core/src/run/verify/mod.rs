//! Verifying a run: chain, states, outputs and blobs.

mod blob_claims;
mod check;
mod verifier;
mod verify;

pub(crate) use blob_claims::{BlobChecker, BlobClaim};
pub use check::Aspect;
pub(crate) use check::{Check, Failure, Findings};
pub(crate) use verifier::{Batch, Notes, Spare, Verifier};
pub use verify::Verification;
