"""Ctrl-C: whatever takes long looks for signals, and ends at once when a handler raises."""

import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest

import session_tape as st
from recordings import talk
from test_bundles import ROOT, bundle, recorded

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer is that of POSIX"),
    pytest.mark.skipif(
        shutil.which("node") is None or not list(ROOT.glob("*.node")),
        reason="the addon of the npm package, which makes bundles, is not built here",
    ),
]


class Interrupted(Exception):
    pass


@contextmanager
def interrupted():
    """A handler that raises when it runs for the second time. Work that does not look runs it once, behind its end."""
    seen = []

    def handle(*_):
        seen.append(1)
        if len(seen) == 2:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
            yield
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A session of some 60 MB."""
    path = tmp_path_factory.mktemp("large") / "session.jsonl"
    start, _, rest = talk(1, turns=1000).partition(b"\n")
    path.write_bytes(start + b"\n" + rest * 15)
    return path


@pytest.fixture(scope="module")
def packed(session):
    return bundle(session, session.with_name("session.cath-bundle"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with some 60 MB of events."""
    return recorded(tmp_path_factory.mktemp("run") / "run", events=60_000, message=400)


def test_an_export_of_a_bundle(packed, tmp_path):
    with interrupted():
        st.to_parquet(packed, tmp_path / "lake")
    assert not [path for path in (tmp_path / "lake").rglob("*") if path.is_file()]
    assert st.to_parquet(packed, tmp_path / "lake", ["sessions"]).rows == {"sessions": 1}


def test_rows_of_a_bundle(packed):
    with interrupted():
        st.table(packed, "sessions").read_all()


def test_rows_of_a_run(run):
    with interrupted():
        st.events(run, kind="runs").read_all()


def test_the_verification_of_a_run(run):
    with interrupted():
        st.table(run, "runs", verify=True).read_all()


def test_a_divergence(session, tmp_path):
    other = tmp_path / "other.jsonl"
    shutil.copyfile(session, other)
    with interrupted():
        st.first_divergence(session, other)


def test_verified_rows(session):
    rows = st.events(session).read_all().combine_chunks()
    with interrupted():
        st.verify_rows(rows)


def test_work_that_is_not_interrupted_ends(tmp_path):
    """Signals whose handlers raise nothing change nothing."""
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
