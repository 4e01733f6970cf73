//! The escapes of JSON strings that are a backslash and one character.

/// What each character stands for behind a backslash; 0 where that is no such escape.
pub static MEANINGS: [u8; 256] = {
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

/// Whether there is an escape of one character, this one.
#[inline]
pub fn is_simple_escape(byte: u8) -> bool {
    MEANINGS[usize::from(byte)] != 0
}

/// What the character stands for behind a backslash, if that is such an escape.
pub fn meaning(byte: u8) -> Option<u8> {
    Some(MEANINGS[usize::from(byte)]).filter(|meaning| *meaning != 0)
}
