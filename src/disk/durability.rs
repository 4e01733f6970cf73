//! What it means that something is written.

/// What "flushed" promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are with the operating system: they survive the process.
    #[default]
    Os,
    /// The bytes are on stable storage: they survive the machine.
    Fsync,
}
