//! The names of recordings in tables, which are text, and their paths, which need not be UTF-8.
//!
//! A path that is UTF-8 is its own name. In any other path, each byte that is not UTF-8 becomes `%` and two hexadecimal digits (`%FF`), and each `%`
//! becomes `%25`. A UTF-8 path that looks like such a name is escaped too, so that each name belongs to one path only.

use std::path::{Path, PathBuf};

use session_tape_core::archived::resolve;
use session_tape_core::foreign::{Detected, detect_at, split};

/// The name of the recording at a path.
pub fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) if escaped_path(text).is_none() => text.to_owned(),
        _ => escape(path),
    }
}

/// The path that names a conversation of the file at `path`.
pub fn with_conversation(path: &Path, conversation: &str) -> PathBuf {
    let mut whole = path.as_os_str().to_owned();
    whole.push("#");
    whole.push(conversation);
    whole.into()
}

/// The file and the conversation of a path with the form `PATH#CONVERSATION`, at which there is nothing itself. `None` if that file does not exist, or is
/// no session of another program. If it can't be read, its row will say why.
pub fn conversation_at(path: &Path) -> Option<(PathBuf, String)> {
    split_conversation(path).filter(|(file, _)| matches!(detect_at(file), Ok(Detected::Foreign(_)) | Err(_)))
}

/// The file and the conversation of a path with the form `PATH#CONVERSATION`, if that file or its archive exists.
pub fn split_conversation(path: &Path) -> Option<(PathBuf, String)> {
    let (file, conversation) = match path.to_str() {
        Some(_) => split(path)?,
        None => {
            let name = name_of(path);
            let (file, conversation) = name.rsplit_once('#')?;
            (path_of(file), conversation.replace("%25", "%"))
        }
    };
    (!conversation.is_empty() && resolve(&file).is_file()).then_some((file, conversation))
}

/// The path of the recording with this name.
pub fn path_of(name: &str) -> PathBuf {
    escaped_path(name).unwrap_or_else(|| PathBuf::from(name))
}

#[cfg(unix)]
fn escape(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name.push_str(&chunk.valid().replace('%', "%25"));
        chunk.invalid().iter().for_each(|byte| name.push_str(&format!("%{byte:02X}")));
    }
    name
}

/// The path of an escaped name. `None` if the name is not an escaped one.
#[cfg(unix)]
pub fn escaped_path(name: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;

    /// No system has paths that long, even when they are escaped.
    const MAX_BYTES: usize = 16 << 10;

    if name.len() > MAX_BYTES {
        return None;
    }
    let path = unescape(name)?;
    let mut inner = path.clone();
    // A UTF-8 path is escaped only if it looks escaped itself.
    while let Ok(text) = std::str::from_utf8(&inner) {
        inner = unescape(text)?;
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

#[cfg(unix)]
fn unescape(name: &str) -> Option<Vec<u8>> {
    let mut parts = name.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    if bytes.len() == name.len() {
        return None;
    }
    for part in parts {
        let digits = part.as_bytes().get(..2)?;
        if !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F')) {
            return None;
        }
        let byte = u8::from_str_radix(part.get(..2)?, 16).ok().filter(|byte| *byte == b'%' || !byte.is_ascii())?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(bytes)
}

/// On other systems, a path fails to be UTF-8 only if it has unpaired surrogates, which become U+FFFD.
#[cfg(not(unix))]
fn escape(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub fn escaped_path(_: &str) -> Option<PathBuf> {
    None
}
