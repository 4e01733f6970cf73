//! Search through sessions: which of their strings match a query (`docs/find.md`).
//!
//! `query` compiles a query into a matcher of decoded strings and a `prefilter` of raw bytes, which may only pass over lines that can't match. `scan`
//! finds the hits in part of a file: lines that the prefilter lets through are read as in a replay, and their `strings` are matched. `sessions` does
//! that with many files on all cores, and returns the hits in order.

mod fold;
mod hit;
mod listing;
mod masked;
mod matcher;
mod members;
mod prefilter;
mod query;
mod raw;
mod scan;
mod sessions;
mod strings;
mod wtf8;

pub use hit::{Field, Hit, Speaker};
pub use listing::{Found, ListedFile, find_files};
pub use query::{Case, Query, QueryOptions};
pub use scan::{Bound, ScanOptions};
pub use sessions::{Fate, Part, Search, SearchFile};

#[cfg(test)]
mod tests;
