//! The escapes of JSON strings that consist of a backslash and one character.

/// The meaning of each character after a backslash; 0 if the two are not such an escape.
pub(super) static MEANINGS: [u8; 256] = {
    let mut meanings = [0; 256];
    meanings[b'"' as usize] = b'"';
    meanings[b'\\' as usize] = b'\\';
    meanings[b'/' as usize] = b'/';
    meanings[b'b' as usize] = 0x08;
    meanings[b'f' as usize] = 0x0c;
    meanings[b'n' as usize] = b'\n';
    meanings[b'r' as usize] = b'\r';
    meanings[b't' as usize] = b'\t';
    meanings
};

/// Whether a backslash and this character are such an escape.
#[inline]
pub(crate) fn is_simple_escape(byte: u8) -> bool {
    MEANINGS[usize::from(byte)] != 0
}

/// The meaning of the character after a backslash; `None` if the two are not such an escape.
pub(super) fn meaning(byte: u8) -> Option<u8> {
    Some(MEANINGS[usize::from(byte)]).filter(|meaning| *meaning != 0)
}
