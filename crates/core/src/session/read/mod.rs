//! Reading a session: replay on all cores, and what a listing shows.

mod describe;
mod final_history;
mod header;
mod item_layout;
mod preview;
mod records;
mod records_of_parts;
mod replay;
mod scan;
mod title;

pub use describe::{Described, Describing};
pub use final_history::FinalHistory;
pub use header::{HeaderError, Summary};
pub use item_layout::{ItemLayout, LaidOutItems};
pub use preview::Preview;
pub(crate) use records::ItemsInHistory;
pub use records::{LineStatus, RecordLine, RecordOptions, RecordReader};
pub use replay::{CurrentMetadata, Outcome, Replay, ReplayError, Unread};
pub use title::read_title;
