"""Directories and globs: other threads run and signals are heard while recordings are looked for."""

import signal
import subprocess
import sys
import threading
import time

import pytest

import session_tape as st
from interruption import interrupted
from recordings import talk

DIRECTORIES = 15_000

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer is that of POSIX")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Many directories with files that are not sessions."""
    folder = tmp_path_factory.mktemp("tree")
    for directory in range(DIRECTORIES):
        (folder / str(directory)).mkdir()
        (folder / str(directory) / "notes.txt").touch()
    (folder / "0" / "other.none").touch()
    return folder


@needs_timer
@pytest.mark.parametrize(
    "work",
    [
        lambda tree: st.events([f"{tree}/**/*.none"] * 3),
        lambda tree: st.events([f"{tree}/*/*.txt"] * 3),
        lambda tree: st.recordings(tree),
        lambda tree: st.recordings(tree, "runs"),
        lambda tree: st.events(iter([tree])).read_all(),
        lambda tree: st.to_delta([tree], tree.with_name("lake")),
    ],
)
def test_a_signal_interrupts_the_search_for_recordings(tree, work):
    begun = time.monotonic()
    work(tree)
    if time.monotonic() - begun < 0.15:
        pytest.skip("this machine is done before a signal is looked for twice")
    with interrupted(every=0.02):
        work(tree)


@needs_timer
def test_a_signal_interrupts_a_search_that_finds_nothing(tree):
    """The exception of a handler once met the creation of another exception, which ended the process.

    pyarrow is imported beforehand: an exception of a handler while Python imports a module may become another one.
    """
    script = f"""
import signal, pyarrow, session_tape as st
for call in (
    lambda: st.events("{tree}/**/*.nothing"),
    lambda: st.events("{tree}/1[0-3]*/*.nothing"),
    lambda: st.events("{tree}/missing"),
    lambda: st.first_divergence("{tree}/missing", "b"),
):
    for delay in range(1, 40, 2):
        signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay / (1000 if delay % 4 == 1 else 100_000))
            # The timer fires once, perhaps while this exception is caught: that is for the statement around it.
            try:
                call()
            except FileNotFoundError:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        except ZeroDivisionError:
            pass
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def longest_stall(work):
    """The longest time in seconds for which another Python thread did not run during `work`."""
    over, stalls = threading.Event(), [0.0]

    def tick():
        last = time.monotonic()
        while not over.is_set():
            time.sleep(0.002)
            now = time.monotonic()
            stalls[0], last = max(stalls[0], now - last), now

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.monotonic()
    work()
    took = time.monotonic() - begun
    over.set()
    thread.join()
    return stalls[0], took


@pytest.mark.parametrize(
    "work",
    [
        lambda tree: st.recordings(tree),
        lambda tree: st.events([f"{tree}/**/*.none"] * 3),
        lambda tree: st.events([f"{tree}/*/*.txt"] * 3),
    ],
)
def test_other_threads_run_during_the_search_for_recordings(tree, work):
    # A busy machine may stop a thread, too, but hardly each time.
    for _ in range(4):
        stall, took = longest_stall(lambda: work(tree))
        print(f"{took:.3f} s, in which the other thread did not run for {stall:.3f} s")
        if stall < max(0.1, took / 2):
            return
    pytest.fail("the other thread stood still each time")


def test_search_is_fast_while_another_thread_is_busy(tmp_path):
    """Acquiring the GIL may take the switch interval each time, so it must not be released for each path: that would take 50 s here."""
    content = talk(1, turns=1)
    paths = [tmp_path / f"{number}.jsonl" for number in range(1000)]
    for path in paths:
        path.write_bytes(content)
    over = threading.Event()

    def spin():
        while not over.is_set():
            pass

    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.05)
    thread = threading.Thread(target=spin)
    thread.start()
    try:
        for given in (paths, tmp_path, iter(paths)):
            begun = time.monotonic()
            assert len(st.recordings(given)) == len(paths)
            assert time.monotonic() - begun < 25
    finally:
        over.set()
        sys.setswitchinterval(interval)
        thread.join()
