//! Repair: finds the records of a session whose file is damaged, and writes them to a new file (`docs/repair.md`).
//!
//! `text` decodes the file, `search` finds records in it: `machine` in what does not parse. `select` decides which of them the new file has, and
//! `repair` goes through the text twice: once to decide what is wrong, and again to write.

mod error;
mod machine;
mod receipt;
mod record;
mod repair;
mod search;
mod select;
mod sessions;
mod text;
mod window;

pub use error::RepairError;
pub use receipt::{Fragment, RepairReceipt};
pub use repair::{RepairOptions, repair};
pub use sessions::OtherSession;

#[cfg(test)]
mod tests;
