//! A disk that loses power: the operations that were issued to it, what a sync has made durable, and every state that it may be in after a power cut.

// Each harness uses only a part of this module.
#![allow(dead_code)]

pub mod bundle;
pub mod cut;
pub mod disk;
pub mod fault;
pub mod run;
pub mod search;
pub mod session;
pub mod tree;
