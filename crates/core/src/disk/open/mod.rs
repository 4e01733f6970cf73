//! Files that are opened by path: which file a path means, and reading it.

mod file;
pub mod files;
pub mod input_file;
mod parent;
pub mod sniff;
pub mod stream;
mod target;

pub use file::File;
pub use files::{exists, is_directory};
pub use input_file::{InputFile, expect_regular, open_patiently};
pub use parent::parent;
pub use sniff::{BOM, ZSTD_MAGIC, is_archive};
pub use target::Target;
