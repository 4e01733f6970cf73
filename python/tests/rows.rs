//! The tests of `rows`, and of nothing that knows Python: a test that is linked with the wheel's library would need an interpreter.

#![allow(dead_code, unused_imports)]

#[path = "../src/rows/mod.rs"]
mod rows;
