"""The memory that a conversion takes: the limits that hold for fleet tables, whatever the number of cores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import session_tape as st
from foreign import claude, jsonl, tool_use
from recordings import answer, call, lines, session, start, text
from test_bundles import pytestmark as needs_addon, recorded

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process took at most, Linux says in /proc")

#: For what Python and the libraries do not take that write tables.
MAX_MIB = 256

#: For sessions of millions of lines or calls of a few bytes each, whose rows take far more memory than they do.
MAX_MIB_OF_SHORT_LINES = 512

EXPORT = "st.to_delta(sys.argv[1], sys.argv[2])"
FILES = "st.to_parquet(sys.argv[1], sys.argv[2])"
ROWS = "assert sum(batch.num_rows for batch in st.table(sys.argv[1], '{}')) > 0"
SLOWLY = "for batch in st.table(sys.argv[1], '{}'): time.sleep(0.01)"


def most_mib(work, *arguments, threads):
    """The peak of the resident memory of a process that does this work, in MiB."""
    script = f"import sys, time, session_tape as st\n{work}\nprint(open('/proc/self/status').read())"
    environment = {**os.environ, "SESSION_TAPE_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [most] = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("VmHWM")]
    print(f"{int(most) / 1024:.0f} MiB: {work}, {threads} threads")
    return int(most) / 1024


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """What an export of one small session takes, in MiB: Python, pyarrow and, if it is used, deltalake."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "s.jsonl").write_bytes(session(start()))
    return {work: most_mib(work, folder / "s.jsonl", folder / str(at), threads=2) for at, work in enumerate((EXPORT, FILES))}


def large(path, mib, sizes):
    """A session of at least `mib` MiB, in which texts of these sizes repeat."""
    words = "".join(f"{number * 7919 % 99991} words and " for number in range(30_000))
    records = []
    for at, size in enumerate(sizes):
        some = words[at * 31 % 1000 :][:size]
        one = (text("human", some), call(f"call-{at}", command=some), answer(f"call-{at - 1}", result={"output": some}), text("ai", some))
        records.append(one[at % 4])
    first, *rest = lines(start(), *records)
    block = "".join(line + "\n" for line in rest).encode()
    with path.open("wb") as file:
        file.write(first.encode() + b"\n")
        while file.tell() < mib << 20:
            file.write(block)
    return path


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return large(tmp_path_factory.mktemp("short") / "s.jsonl", 160, [20 + at * 37 % 1780 for at in range(8000)])


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return large(tmp_path_factory.mktemp("long") / "s.jsonl", 160, [80_000 + at * 997 % 40_000 for at in range(100)])


@pytest.mark.parametrize(
    ("work", "records", "threads"),
    [(EXPORT, "short", 4), (EXPORT, "short", 64), (FILES, "short", 64), (FILES, "long", 64), (EXPORT[:-1] + ", ['events'], text_limit=4096)", "long", 64)],
)
def test_memory_of_an_export_of_a_large_session_is_bounded(records, threads, work, own, request, tmp_path):
    most = most_mib(work, request.getfixturevalue(records), tmp_path / "lake", threads=threads)
    libraries = own[FILES if work == FILES else EXPORT]
    assert most < libraries + MAX_MIB


@pytest.mark.parametrize("table", ["events", "tool_calls"])
def test_memory_of_reading_a_large_session_is_bounded(short, table):
    assert most_mib(ROWS.format(table), short, threads=4) < MAX_MIB
    assert most_mib(SLOWLY.format(table), short, threads=4) < MAX_MIB, "with a reader that is slow"


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A session of another program of 100 MiB."""
    folder = tmp_path_factory.mktemp("converted")
    path, words = folder / "s.jsonl", "some words and more of them " * 40
    with path.open("wb") as file:
        at = 0
        while file.tell() < 100 << 20:
            one = (claude("user", f"n{at}", f"n{at - 1}", words), claude("assistant", f"n{at}", f"n{at - 1}", [tool_use(f"c{at}"), {"type": "text", "text": words}]))
            file.write(jsonl(one[at % 2]))
            at += 1
    return path


@pytest.mark.parametrize(("work", "threads"), [(EXPORT, 4), (EXPORT, 64), (FILES, 64)])
def test_memory_of_an_export_of_a_session_of_another_program_is_bounded(work, threads, converted, own, tmp_path):
    most = most_mib(work, converted, tmp_path / "lake", threads=threads)
    assert most < own[work] + MAX_MIB


@pytest.mark.parametrize("work", [EXPORT, FILES])
def test_memory_of_an_export_of_many_sessions_is_bounded(work, own, tmp_path):
    session = large(tmp_path / "session", 1, [20 + at * 37 % 1780 for at in range(100)]).read_bytes()
    (tmp_path / "sessions").mkdir()
    for number in range(160):
        (tmp_path / "sessions" / f"{number}.jsonl").write_bytes(session)
    assert most_mib(work, tmp_path / "sessions", tmp_path / "lake", threads=8) < own[work] + MAX_MIB


#: Exports recordings that are made one by one, and again.
MANY = """
def sessions():
    for number in range(100_000):
        yield f"/home/ada/.calendar-kit/chats/session-{number}.jsonl", (sys.argv[1] % number).encode()
assert st.to_delta(sessions(), sys.argv[2], ["sessions"]).sources == 100_000
assert st.to_delta(sessions(), sys.argv[2], ["sessions"]).unchanged == 100_000
"""


def test_memory_of_exports_does_not_grow_with_the_number_of_sessions(own, tmp_path):
    [line] = lines(start(sessionId="%d"))
    most = most_mib(MANY, line, tmp_path / "lake", threads=2)
    assert most < own[EXPORT] + MAX_MIB


def test_memory_of_a_session_with_very_many_lines_is_bounded(own, tmp_path):
    """A row needs some hundred bytes, however short its line is."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(start())[0].encode() + b"\n" * (9 << 20) + json.dumps({"type": "end"}).encode())
    assert most_mib(FILES, path, tmp_path / "files", threads=4) < own[FILES] + MAX_MIB_OF_SHORT_LINES


@pytest.mark.parametrize("tables", [["events", "tool_calls"], ["events", "tool_calls", "sessions"]])
def test_unanswered_tool_calls_take_limited_memory(tables, unanswered, own, tmp_path):
    """Steps must know them to the end, since an answer could still come. So they are not among what is bounded by `MAX_MIB`."""
    assert most_mib(f"{EXPORT[:-1]}, {tables})", unanswered, tmp_path, threads=2) < own[EXPORT] + MAX_MIB_OF_SHORT_LINES


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory):
    path = tmp_path_factory.mktemp("unanswered") / "s.jsonl"
    _, one = lines(start(), call("call-%d", command="x"))
    with path.open("w") as file:
        file.write(lines(start())[0] + "\n")
        file.writelines(one % number + "\n" for number in range(1_600_000))
    return path


@needs_addon
def test_memory_of_reading_and_exporting_a_large_run_is_bounded(own, tmp_path):
    run = recorded(tmp_path / "run", events=500_000, message=1)
    # Its rows would take some 120 MiB in total, and more with each further event.
    assert most_mib(SLOWLY.format("run_events"), run, threads=4) < 150
    assert most_mib(EXPORT[:-1] + ", ['run_events', 'runs'])", run, tmp_path / "lake", threads=4) < own[EXPORT] + MAX_MIB


def test_memory_of_the_verify_command_is_bounded(tmp_path):
    path = tmp_path / "a-session-with-a-usual-name-of-some-length.jsonl"
    path.write_bytes(session(start()) + b'{"type":"x"}\n' * 1_500_000)
    [part] = st.to_parquet(path, tmp_path / "files", ["events"]).files
    most = most_mib("from session_tape.__main__ import main\nassert main(['verify', sys.argv[1]]) == 0", part, threads=2)
    assert most < MAX_MIB
