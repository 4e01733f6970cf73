//! Shared by the crash harnesses: a child process that reports what is durable, and ends at a given point, at a given moment or on a full disk.

// Each harness uses only a part of this module.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of rounds of each kind.
pub fn rounds() -> u64 {
    std::env::var("CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

/// A number that the harness passes to its child in an environment variable.
pub fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// How a child ends, unless by itself, and what its flushes promise.
#[derive(Clone, Copy, Default)]
pub struct Terms {
    /// Whether flushes are durable.
    pub fsync: bool,
    /// The point at which the child ends, and the number of the visit.
    pub point: Option<(&'static str, u64)>,
    /// The maximum size of a file in bytes.
    pub file_limit: Option<u64>,
}

/// The command that runs this program's test `child` and no other, on these terms.
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

/// Applies the terms in the child. Returns whether flushes are to be durable.
pub fn take_on_terms() -> bool {
    if let Some(limit) = number("CRASH_FILE_LIMIT") {
        limit_file_size(limit as u64);
    }
    if let Ok(point) = std::env::var("CRASH_POINT") {
        end_at(point, number("CRASH_VISIT").unwrap_or(1.0) as u64);
    }
    number("CRASH_FSYNC").is_some()
}

/// Writes to the pipe at once, so that it arrives even if the process is killed next. Marked, because the test runner prints too.
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
    /// Whether it ended by itself and without an error.
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

/// Starts a child, and kills it after `delay`.
pub fn kill_after(delay: Duration, command: &mut Command) -> Ended {
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    // Read while the child runs: a full pipe would block it.
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

/// Ends this process at the n-th visit of the point.
fn end_at(point: String, visit: u64) {
    let visits = AtomicU64::new(0);
    fail::cfg_callback(point, move || {
        if visits.fetch_add(1, Ordering::SeqCst) + 1 == visit {
            // SAFETY: takes no pointer; ending this process is the purpose.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            std::thread::sleep(Duration::from_secs(60));
        }
    })
    .unwrap();
}

/// Limits the size of the files of this process: writes beyond it fail, as on a full disk.
fn limit_file_size(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is valid for this process; the signal is ignored so that the write reports EFBIG instead.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
    }
}

/// A generator of pseudorandom numbers, the same in every run of a test.
pub fn random_numbers() -> impl FnMut(u64) -> u64 {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    }
}
