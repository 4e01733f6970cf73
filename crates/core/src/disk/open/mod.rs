//! Files that are opened by path: which file a path means, and reading it.

pub mod files;
mod input_file;
pub mod sniff;

pub use super::system::File;
pub(crate) use super::system::read_up_to;
pub(super) use files::{is_directory, parent};
pub(crate) use input_file::InputFile;
pub use sniff::BOM;
