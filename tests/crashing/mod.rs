//! What crash harnesses have in common: a child process that says what is safe, and ends where it is told to.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStdout;
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

/// Straight to the pipe: what was said is said, whatever happens next. Marked, since the test runner says things too.
pub fn say(words: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("\n# {words}\n").as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// What a child said is safe, the latest of it.
pub fn last_acknowledged(stdout: ChildStdout) -> Option<u64> {
    let said = BufReader::new(stdout).lines().map_while(Result::ok);
    said.filter_map(|line| line.strip_prefix("# acked ")?.parse().ok()).last()
}

/// Ends this process when it comes to the point for the n-th time.
pub fn end_at(point: String, visit: u64) {
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
pub fn limit_file_size(bytes: u64) {
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
