//! Nothing but the place of the benchmarks beside it: a crate needs a library or a program.
