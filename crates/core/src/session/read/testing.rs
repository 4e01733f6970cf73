//! What tests look into snapshots with.

pub use super::snapshot::{SnapshotFile, load};
