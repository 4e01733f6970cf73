//! Reading a session: replay on all cores, snapshots, and what a listing shows.

mod describe;
mod final_history;
mod header;
mod item_layout;
mod preview;
mod records;
mod replay;
mod scan;
mod snapshot;
pub mod testing;
mod title;

pub use describe::{DescribeOptions, Described, Describing};
pub use final_history::FinalHistory;
pub use header::{HeaderError, Summary};
pub use item_layout::{ItemLayout, LaidOutItems};
pub use preview::Preview;
pub(crate) use records::ItemsInHistory;
pub use records::{LineStatus, RecordLine, RecordOptions, RecordReader};
pub use replay::{CurrentMetadata, Outcome, Replay, ReplayError, Unread};
pub use snapshot::Snapshots;
pub(super) use snapshot::path_of as snapshot_path_of;
pub use title::read_title;
