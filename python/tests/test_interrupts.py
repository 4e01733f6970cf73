"""Ctrl-C: everything that takes long checks for signals, and ends soon after a handler raises."""

import os
import shutil
import signal
import threading
import time

import deltalake  # noqa: F401: an exception of a handler while Python imports a module may become another one
import pyarrow.parquet  # noqa: F401
import pytest

import session_tape as st
import session_tape._delta
import session_tape._parquet  # noqa: F401
from foreign import dialogue
from interruption import Interrupted, interrupted
from lake import is_consistent, version
from recordings import talk
from test_bundles import ROOT, bundle, recorded

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer is that of POSIX"),
    pytest.mark.skipif(
        shutil.which("node") is None or not list(ROOT.glob("*.node")),
        reason="the addon of the npm package, which makes bundles, is not built here",
    ),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A session of about 60 MB."""
    path = tmp_path_factory.mktemp("large") / "session.jsonl"
    start, _, rest = talk(1, turns=1000).partition(b"\n")
    path.write_bytes(start + b"\n" + rest * 15)
    return path


@pytest.fixture(scope="module")
def packed(session):
    return bundle(session, session.with_name("session.cath-bundle"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with about 60 MB of events."""
    return recorded(tmp_path_factory.mktemp("run") / "run", events=60_000, message=400)


def test_a_signal_interrupts_an_export_of_a_bundle(packed, tmp_path):
    with interrupted():
        st.to_delta(packed, tmp_path / "lake")
    assert not list((tmp_path / "lake").rglob("*.parquet")) and version(tmp_path / "lake", "sources") < 1
    assert st.to_delta(packed, tmp_path / "lake", ["sessions"]).rows == {"sessions": 1}


def test_a_signal_interrupts_unpacking_a_bundle(packed, tmp_path):
    with interrupted():
        st.to_parquet(packed, tmp_path / "files")
    assert list((tmp_path / "files").iterdir()) == []


def test_a_signal_interrupts_reading_a_bundle(packed):
    with interrupted():
        st.table(packed, "sessions").read_all()


def test_a_signal_interrupts_the_conversion_of_a_session_of_another_program(tmp_path):
    records = dialogue(1000)
    (tmp_path / "s.jsonl").write_bytes(records * 60)
    with interrupted():
        st.table(tmp_path / "s.jsonl", "sessions").read_all()
    with interrupted():
        st.to_delta([tmp_path / "s.jsonl"], tmp_path / "lake")
    assert version(tmp_path / "lake", "sources") < 1


def test_a_signal_interrupts_reading_a_run(run):
    with interrupted():
        st.events(run, kind="runs").read_all()


def test_a_signal_interrupts_the_verification_of_a_run(run):
    with interrupted():
        st.table(run, "runs", verify=True).read_all()


def test_a_signal_interrupts_a_divergence(session, tmp_path):
    other = tmp_path / "other.jsonl"
    shutil.copyfile(session, other)
    with interrupted():
        st.first_divergence(session, other)


def test_a_signal_interrupts_the_verification_of_rows(session):
    rows = st.events(session).read_all().combine_chunks()
    with interrupted():
        st.verify_rows(rows)


#: Work that checks for signals ends after milliseconds, other work only at its end.
MAX_SECONDS = 5


def raised_after(work, when):
    """The time in seconds from SIGINT, which is sent when `when` returns, until the work raises."""
    sent, is_over = [], threading.Event()

    def send():
        when()
        if not is_over.is_set():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    def handle(*_):
        raise Interrupted

    before = signal.signal(signal.SIGINT, handle)
    sender = threading.Thread(target=send)
    try:
        with pytest.raises(Interrupted):
            sender.start()
            work()
            is_over.set()
        return time.monotonic() - sent[0]
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def endless(session, tmp_path):
    """Sessions that take long to read: their lines are followed by zeros, as a crash may leave them, which take no space on the disk."""
    made = [tmp_path / "sessions" / name for name in ("one.jsonl", "other.jsonl")]
    made[0].parent.mkdir()
    for path in made:
        shutil.copyfile(session, path)
        os.truncate(path, 12 << 30)
    return made


@pytest.mark.parametrize(
    ("work", "seconds"), [("to_delta", 0.2), ("to_delta", 1), ("to_parquet", 0.2), ("to_parquet", 1), ("read_all", 0.2), ("read_all", 1), ("first_divergence", 0.05)]
)
def test_a_signal_interrupts_reading_promptly(endless, session, tmp_path, work, seconds):
    if work == "first_divergence":
        # It passes over zeros that take no space.
        for path in endless:
            path.write_bytes(session.read_bytes() + bytes(600 << 20))
    works = {
        "to_delta": lambda: st.to_delta(endless[0].parent, tmp_path / "lake"),
        "to_parquet": lambda: st.to_parquet(endless[0].parent, tmp_path / "lake"),
        "read_all": lambda: st.table(endless[0].parent, "sessions").read_all(),
        "first_divergence": lambda: st.first_divergence(*endless),
    }
    took = raised_after(works[work], lambda: time.sleep(seconds))
    print(f"heard after {took:.3f} s")
    assert took < MAX_SECONDS
    assert not list((tmp_path / "lake").rglob("*.parquet"))


def test_a_signal_interrupts_writing_tables_promptly(tmp_path):
    """Each session is of another day, and thus a partition of its own, with a file of its own in each table."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(800):
        content = talk(number, turns=1, day=1 + number % 28)
        day = f"{1000 + number // 300}-{1 + number // 25 % 12:02}-{1 + number % 25:02}".encode()
        (folder / f"{number}.jsonl").write_bytes(content.replace(b"2026-02-%02d" % (1 + number % 28), day))
    lake = tmp_path / "lake"

    def committed():
        while version(lake, "events") < 1:
            time.sleep(0.01)

    took = raised_after(lambda: st.to_delta(folder, lake), committed)
    print(f"heard after {took:.3f} s")
    assert took < MAX_SECONDS
    assert version(lake, "sources") == 0, "it was still writing"
    assert st.to_delta(folder, lake).sources == 800 and is_consistent(lake)


def test_uninterrupted_work_completes(tmp_path):
    """Signals whose handlers do not raise have no effect."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(talk(1, turns=300))
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        rows = st.events(path).read_all()
        assert st.verify_rows(rows).true_count == rows.num_rows == 1201
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
