//! The durability of written bytes.

/// What flushed bytes are safe from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process: the bytes are with the operating system.
    #[default]
    Os,
    /// A power cut too: the bytes are on stable storage.
    Fsync,
}
