//! Replays a run with the core only, so that no addon has to be built and `perf` shows nothing else:
//! `cargo run --manifest-path bench/Cargo.toml --release --example replay-run -- DIRECTORY none 5`.

use std::error::Error;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use session_tape_core::task::{Cancellation, Task};
use session_tape_core::{RunDirectory, RunReplayOptions, Verify};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = RunDirectory::new(arguments.next().ok_or("a directory is missing")?);
    let verify = match arguments.next().as_deref() {
        None | Some("none") => Verify::None,
        Some("chain") => Verify::Chain,
        Some("full") => Verify::Full,
        Some(other) => return Err(format!("'{other}' is none of none, chain and full").into()),
    };
    let rounds = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let options = RunReplayOptions { verify, ..RunReplayOptions::default() };
    for _ in 0..rounds {
        replay(&directory, &options)?;
    }
    Ok(())
}

/// Prints the wall-clock time of a replay and the processor time of all its threads, in milliseconds.
fn replay(directory: &RunDirectory, options: &RunReplayOptions) -> Result<(), Box<dyn Error>> {
    let (started, before) = (Instant::now(), processor_time());
    let (never, mut quietly) = (Cancellation::default(), |_| {});
    let mut watch = Task { cancellation: &never, progress: &mut quietly };
    let replayed = directory.replay(options, &mut watch).map_err(|failed| failed.error)?;
    let (wall, processor) = (started.elapsed(), processor_time() - before);
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("{} events: {:.1} / {:.1}", replayed.event_count, ms(wall), ms(processor));
    Ok(())
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}
