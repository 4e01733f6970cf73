//! What the crash harnesses share: a child process that says what is safe, and ends at a given point, at a given moment or on a full disk.

// Each harness uses a part of this.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many rounds of each kind are run.
pub fn rounds() -> u64 {
    std::env::var("CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

/// A number that the harness gave its child.
pub fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// How a child is to end, if not by itself, and what its flushes promise.
#[derive(Clone, Copy, Default)]
pub struct Terms {
    /// Flushes are durable.
    pub fsync: bool,
    /// Where to end, and at which visit.
    pub point: Option<(&'static str, u64)>,
    /// The largest size that a file may have.
    pub file_limit: Option<u64>,
}

/// This program again, to run nothing but its test `child`, on these terms.
pub fn child_command(terms: Terms) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    if terms.fsync {
        command.env("CRASH_FSYNC", "1");
    }
    if let Some((point, visit)) = terms.point {
        command.env("CRASH_POINT", point).env("CRASH_VISIT", visit.to_string());
    }
    if let Some(limit) = terms.file_limit {
        command.env("CRASH_FILE_LIMIT", limit.to_string());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// In the child: takes on the terms. Whether flushes are to be durable.
pub fn take_on_terms() -> bool {
    if let Some(limit) = number("CRASH_FILE_LIMIT") {
        limit_file_size(limit as u64);
    }
    if let Ok(point) = std::env::var("CRASH_POINT") {
        end_at(point, number("CRASH_VISIT").unwrap_or(1.0) as u64);
    }
    number("CRASH_FSYNC").is_some()
}

/// Straight to the pipe: what was said is said, whatever happens next. Marked, since the test runner says things too.
pub fn say(words: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("\n# {words}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// How a child ended.
pub struct Ended {
    /// The last number that it acknowledged, if any.
    pub acked: Option<u64>,
    pub code: Option<i32>,
}

impl Ended {
    /// Whether it came to its end, and all was well.
    pub fn by_itself(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs a child to its end.
pub fn run_to_end(command: &mut Command) -> Ended {
    let mut child = command.spawn().unwrap();
    let acked = last_acknowledged(child.stdout.take().unwrap());
    Ended { acked, code: child.wait().unwrap().code() }
}

/// Starts a child and kills it after that time.
pub fn kill_after(delay: Duration, command: &mut Command) -> Ended {
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    // Read all the while: a full pipe would hold the child up.
    let reader = std::thread::spawn(move || last_acknowledged(stdout));
    std::thread::sleep(delay);
    child.kill().unwrap();
    let code = child.wait().unwrap().code();
    Ended { acked: reader.join().unwrap(), code }
}

fn last_acknowledged(stdout: ChildStdout) -> Option<u64> {
    let said = BufReader::new(stdout).lines().map_while(Result::ok);
    said.filter_map(|line| line.strip_prefix("# acked ")?.parse().ok()).last()
}

/// Ends this process when it comes to the point for the n-th time.
fn end_at(point: String, visit: u64) {
    let visits = AtomicU64::new(0);
    fail::cfg_callback(point, move || {
        if visits.fetch_add(1, Ordering::SeqCst) + 1 == visit {
            // SAFETY: ends this process, which is what it is here for.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            std::thread::sleep(Duration::from_secs(60));
        }
    })
    .unwrap();
}

/// From now on no file of this process may be larger: writes fail as on a full disk.
fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: a valid limit for this process; the signal is ignored so that the write reports EFBIG instead.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
    }
}

/// Numbers that are the same in every run of a test.
pub fn random_numbers() -> impl FnMut(u64) -> u64 {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    }
}
