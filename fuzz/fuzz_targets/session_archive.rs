//! Any bytes as an archived session, and with a seek table that fits them: no panic, no memory in proportion to what is claimed, and the same content
//! however it is read.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use session_tape_core::archived::{Content, Packed, Unpacked, open_packed};

/// How much of the content is read.
const MAX_BYTES: usize = 8 << 20;

/// The bytes, with the seek table of one frame behind them.
fn with_table(bytes: &[u8]) -> Vec<u8> {
    let length = u32::from(bytes.first().copied().unwrap_or_default()) << 8;
    let numbers = [0x184d_2a5e, 17, bytes.len() as u32, length, 1].map(u32::to_le_bytes);
    [bytes, numbers.as_flattened(), &[0], &0x8f92_eab1_u32.to_le_bytes()].concat()
}

fn read(bytes: Vec<u8>) {
    let size = bytes.len() as u64;
    let Ok(Ok(archive)) = open_packed(Packed::Memory(bytes), size, Path::new("s.jsonl.zst")) else { return };
    let beginning = archive.beginning(4096).unwrap_or_default();
    let claimed = archive.size();
    let Ok(Content::Framed(file)) = archive.open().inspect(|content| {
        if let Content::Unpacked(Unpacked::Memory(content), damage) = content {
            assert!(damage.is_some() || claimed.as_ref().is_ok_and(|size| *size == content.len() as u64));
            assert!(damage.is_some() || content.starts_with(&beginning));
        }
    }) else {
        return;
    };
    let (mut content, mut piece) = (Vec::new(), vec![0; 10_007]);
    while content.len() < MAX_BYTES {
        match file.read_at(&mut piece, content.len() as u64) {
            Ok(0) | Err(_) => break,
            Ok(count) => content.extend_from_slice(&piece[..count]),
        }
    }
    assert!(content.len() as u64 <= file.size());
    if file.damage().is_none() && content.len() < MAX_BYTES {
        assert_eq!(content.len() as u64, file.size());
    }
    let middle = content.len() / 2;
    let count = file.read_at(&mut piece, middle as u64).unwrap_or(0).min(content.len() - middle);
    assert_eq!(piece[..count], content[middle..middle + count]);
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    read(with_table(bytes));
});
