//! Files that are opened by path: which file a path means, and reading it.

mod file;
pub mod files;
mod input_file;
pub mod sniff;

pub use file::File;
pub(crate) use file::read_up_to;
pub(super) use files::{is_directory, parent};
pub(crate) use input_file::InputFile;
pub use sniff::BOM;
