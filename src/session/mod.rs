//! Session files: the conversation of a CLI, one line of JSON for each event (`docs/session-format.md`).
//!
//! - Recording: [`recorder`], which prints the [`envelope`] of each record.
//! - Replay: [`replay`] scans segments ([`scan`]) and folds their lines ([`event`], [`fold`], [`history`]), optionally from a
//!   [`snapshot`]; it lays out items for JavaScript ([`layout`]) and reports [`warnings`] as [`message`]s.
//! - [`records`] reads every line in order; [`final_history`] finds which items of a large session remain.
//! - [`fork`]: a new session with another one's history up to a checkpoint.
//! - Listing: [`header`] reads only the first line, [`preview`] as far as the first user message, and [`title`] searches for the last title;
//!   [`describe`] replays many files at once.

pub mod checkpoint;
pub mod describe;
pub mod envelope;
pub mod event;
pub mod final_history;
pub mod fold;
pub mod fork;
pub mod header;
pub mod history;
pub mod item_sink;
pub mod layout;
pub mod line;
pub mod message;
pub mod payload;
pub mod preview;
pub mod recorder;
pub mod records;
pub mod replay;
pub mod scan;
pub mod snapshot;
pub mod title;
pub mod warnings;
