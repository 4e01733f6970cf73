//! A disk that loses power: what was issued to it, what a sync has made durable, and every state that it may show after a cut.

// Each harness uses a part of this.
#![allow(dead_code)]

pub mod bundle;
pub mod cut;
pub mod disk;
pub mod fault;
pub mod run;
pub mod search;
pub mod session;
pub mod tree;
