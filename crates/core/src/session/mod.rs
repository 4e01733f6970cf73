//! Session files: the conversation of a CLI, one line of JSON for each event (`docs/session-format.md`).
//!
//! `format` reads and prints lines, `media` finds the images that they name, `fold` combines the effects of events, `read` replays and lists files, `record`
//! writes them.

pub mod fold;
pub mod format;
pub mod media;
pub mod read;
pub mod record;
