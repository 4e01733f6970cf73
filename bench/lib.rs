//! Empty: a package of benchmarks needs a library or a program.
