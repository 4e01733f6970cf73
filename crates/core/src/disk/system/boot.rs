//! Identifies the current boot of the system. Between two boots there may have been a power cut.

/// The id of a boot.
pub type Boot = [u8; 16];

/// The current boot of the operating system. `None` if it does not provide an id.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods)] // Not a file of a recording.
pub(crate) fn of_this_system() -> Option<Boot> {
    use std::sync::OnceLock;
    static BOOT: OnceLock<Option<Boot>> = OnceLock::new();
    let read = || parsed(&std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?);
    *BOOT.get_or_init(read)
}

/// Always `None`: only Linux provides an id.
#[cfg(not(target_os = "linux"))]
pub fn of_this_system() -> Option<Boot> {
    None
}

/// The bytes of a UUID.
#[cfg(target_os = "linux")]
fn parsed(uuid: &str) -> Option<Boot> {
    let digits: String = uuid.trim().chars().filter(|digit| *digit != '-').collect();
    const_hex::decode_to_array(digits).ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn boot_time_is_known_on_linux() {
        assert_eq!(parsed("00112233-4455-6677-8899-aabbccddeeff\n").unwrap()[..3], [0x00, 0x11, 0x22]);
        assert_eq!(parsed("not one"), None);
        assert!(of_this_system().is_some_and(|boot| boot != Boot::default()));
    }
}
