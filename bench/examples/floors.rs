//! The minimum time of a replay on this machine: each program below does only one thing with the lines of a file, on one thread, and builds nothing.
//!
//! ```sh
//! RUSTFLAGS='-C target-cpu=native' cargo run --manifest-path bench/Cargo.toml --release --example floors -- FILE
//! ```
//!
//! `FILE` is a session, or the log of a run (`events.cath-log`), for which there are further programs. Prints milliseconds, the lowest of [`ROUNDS`].
//! The file should be in the page cache.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use session_tape_core::json::{Cursor, Nesting};
use sha2::{Digest, Sha256};

const ROUNDS: usize = 15;

/// Size in bytes of the buffer that the file is read into, which is reused.
const CHUNK_BYTES: usize = 256 << 10;

/// The members of an event that the fold of every run needs.
#[derive(Deserialize)]
struct Event<'l> {
    #[serde(rename = "v")]
    _version: u64,
    #[serde(rename = "time")]
    _time: u64,
    #[serde(rename = "kind")]
    _kind: &'l str,
    node: Option<&'l str>,
    #[serde(borrow)]
    payload: Payload<'l>,
}

#[derive(Deserialize)]
struct Payload<'l> {
    call: Option<&'l str>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("a file is missing")?;
    let text = std::fs::read(&path)?;
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    println!("{:.1} MiB, {} lines", text.len() as f64 / f64::from(1 << 20), lines.len());

    measured("reading into one buffer", || read(Path::new(&path)))?;
    measured("newlines (memchr)", || Ok(memchr::memchr_iter(b'\n', &text).count()))?;
    measured("valid UTF-8 (simdutf8)", || Ok(usize::from(simdutf8::basic::from_utf8(&text).is_ok())))?;
    measured("valid JSON (serde_json)", || {
        Ok(count(&lines, |line| serde_json::from_slice::<IgnoredAny>(line).is_ok()))
    })?;
    measured("valid JSON (sonic-rs)", || {
        Ok(count(&lines, |line| sonic_rs::from_slice::<sonic_rs::LazyValue<'_>>(line).is_ok()))
    })?;
    let (mut copy, mut buffers) = (Vec::new(), simd_json::Buffers::default());
    measured("valid JSON (simd-json, as a tape)", || {
        Ok(count(&lines, |line| {
            // It unescapes strings in place.
            copy.clear();
            copy.extend_from_slice(line);
            simd_json::to_tape_with_buffers(&mut copy, &mut buffers).is_ok()
        }))
    })?;
    let mut nesting = Nesting::default();
    measured("valid JSON (session-tape)", || Ok(count(&lines, |line| is_json(line, &mut nesting))))?;
    measured("SHA-256 of each line (sha2)", || Ok(count(&lines, |line| Sha256::digest(line)[0] < 128)))?;
    measured("decoded to a tree (sonic-rs)", || {
        Ok(count(&lines, |line| sonic_rs::from_slice::<sonic_rs::Value>(line).is_ok()))
    })?;
    measured("UTF-16 in fresh memory (encoding_rs)", || Ok(as_utf16(&lines, text.len()).len()))?;
    of_run(std::str::from_utf8(&text)?)
}

/// The lines as UTF-16, as a JavaScript string has them if one of its characters is beyond Latin-1.
fn as_utf16(lines: &[&[u8]], bytes: usize) -> Vec<u16> {
    // The system clears this memory when it is written.
    let (mut units, mut end) = (vec![0; bytes + 1], 0);
    for line in lines {
        end += encoding_rs::mem::convert_utf8_to_utf16(line, &mut units[end..]);
    }
    units.truncate(end);
    units
}

/// Decoding the events of a run's log, and finding its nodes and calls.
fn of_run(log: &str) -> Result<(), Box<dyn Error>> {
    let lines: Vec<&str> = log.lines().collect();
    let Ok(events) = lines.iter().map(|line| serde_json::from_str::<Event<'_>>(line)).collect::<Result<Vec<_>, _>>()
    else {
        return Ok(());
    };
    measured("five members decoded (serde_json)", || {
        Ok(lines.iter().filter(|line| serde_json::from_str::<Event<'_>>(line).is_ok()).count())
    })?;
    measured("five members decoded (sonic-rs)", || {
        Ok(lines.iter().filter(|line| sonic_rs::from_str::<Event<'_>>(line).is_ok()).count())
    })?;
    measured("nodes and calls found (hashbrown)", || Ok(found(&events)))
}

/// Looks up the node and the call of each event, as any fold has to. Returns the number of calls.
fn found(events: &[Event<'_>]) -> usize {
    let (mut nodes, mut calls) = (HashMap::new(), HashMap::new());
    for event in events {
        let Some(node) = event.node else { continue };
        let next = nodes.len();
        let node = *nodes.entry(node).or_insert(next);
        if let Some(call) = event.payload.call {
            *calls.entry((node, call)).or_insert(0_u32) += 1;
        }
    }
    calls.len()
}

fn read(path: &Path) -> Result<usize, Box<dyn Error>> {
    let (mut file, mut buffer, mut bytes) = (File::open(path)?, vec![0; CHUNK_BYTES], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => bytes += count,
        }
    }
}

fn is_json(line: &[u8], nesting: &mut Nesting) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.value(nesting).and_then(|_| cursor.finish()).is_ok()
}

fn count(lines: &[&[u8]], mut is_counted: impl FnMut(&[u8]) -> bool) -> usize {
    lines.iter().filter(|line| is_counted(line)).count()
}

fn measured(name: &str, mut program: impl FnMut() -> Result<usize, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let mut lowest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        black_box(program()?);
        lowest = lowest.min(started.elapsed().as_secs_f64() * 1000.0);
    }
    println!("{name:<36}{lowest:>8.1} ms");
    Ok(())
}
