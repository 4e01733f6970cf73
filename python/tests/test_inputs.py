"""What can be passed as `paths`, and what is rejected."""

import errno
import gzip
import inspect
import io
import os
import shutil
import subprocess
import sys
import threading
import typing
from pathlib import Path

import pyarrow as pa
import pytest

import session_tape as st
import session_tape.__main__
from lake import rows
from recordings import session, start, talk, text


GOLDEN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"


def sources(paths, **options):
    table = st.table(paths, "sessions", **options).read_all()
    return table["source"].to_pylist()


def test_accepts_paths_of_all_kinds(fleet, tmp_path):
    every = sorted(str(path) for path in fleet.rglob("*.jsonl"))
    one = every[0]
    assert sources(one) == sources([one]) == sources(iter([one])) == [one]
    assert sorted(sources(fleet)) == sorted(sources(str(fleet))) == every
    assert sorted(sources(f"{fleet}/*/*.jsonl")) == every
    assert sorted(sources(fleet / "project-?")) == every
    assert sources((path for path in every)) == every, "in the order in which they were given"
    assert sources([("a", b"x"), ("b", bytearray(b"y")), ("c", memoryview(b"z")), ("d", io.BytesIO(b"z"))]) == ["a", "b", "c", "d"]
    with open(one, "rb") as file:
        assert sources([file]) == [one]
    with open(one, "rb") as file:
        assert sources(file) == [one]
    (tmp_path / "notes.txt").write_text("no recording")
    assert sources(tmp_path) == []
    assert sources(tmp_path / "notes.txt") == [str(tmp_path / "notes.txt")], "what is named is read, whatever its name"


def test_a_tuple_of_two_recordings_is_not_a_pair(tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for number, path in enumerate((one, other)):
        path.write_bytes(talk(number))
    content = one.read_bytes()
    both = [str(one), str(other)]
    assert sources((("a", content), ("b", io.BytesIO(content)))) == ["a", "b"]
    assert sources((one, ("a", content))) == [both[0], "a"]
    assert sources((("a", content), other)) == ["a", both[1]]
    assert sources((str(one), str(other))) == sources((one, other)) == both
    with open(one, "rb") as first, open(other, "rb") as second:
        assert sources((first, second)) == both
    with open(other, "rb") as second:
        assert sources((one, second)) == both
    with open(other, "rb") as second:
        assert sources((str(one), second)) == [both[0]], "a name and its content"


def test_an_invalid_pair_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    for wrong in [(1, b"x"), (path, b"x"), (b"a", b"x"), (None, io.BytesIO()), (5, 6)]:
        for paths in (wrong, [wrong]):
            with pytest.raises(TypeError, match=r"the name in a \(name, bytes\) pair must be str"):
                st.events(paths)
    with open(path) as as_text:
        for wrong in [("a", as_text), ("a", 5), ("a", None)]:
            for paths in (wrong, [wrong]):
                with pytest.raises(TypeError, match="the content in a"):
                    st.events(paths)


class Named:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


def test_a_path_may_be_bytes_of_an_object(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(talk(1))
    named = Named(os.fsencode(path))
    assert sources(named) == sources([named]) == [str(path)]
    assert st.first_divergence(named, path) is None
    assert st.to_delta(path, Named(os.fsencode(tmp_path / "lake"))).sources == 1
    assert st.to_parquet(path, Named(os.fsencode(tmp_path / "files"))).sources == 1


@pytest.mark.parametrize("wrong", ["a\0b", "a\ud800b"])
def test_an_impossible_path_is_named_in_the_error(tmp_path, wrong):
    for paths in (wrong, [wrong], Named(wrong), (wrong, "b"), iter([wrong])):
        with pytest.raises(ValueError, match="^paths has a path .*'a") as found:
            st.events(paths).read_all()
        assert type(found.value) is ValueError
    for name, call in [
        ("uri", lambda: st.to_delta([], wrong)),
        ("uri", lambda: st.forget(wrong, "a")),
        ("directory", lambda: st.to_parquet([], wrong)),
        ("left", lambda: st.first_divergence(wrong, "b")),
        ("right", lambda: st.first_divergence("b", Named(wrong))),
    ]:
        with pytest.raises(ValueError, match=f"^{name} must ") as found:
            call()
        assert type(found.value) is ValueError


def test_a_bracket_alone_is_not_a_glob(tmp_path):
    with pytest.raises(FileNotFoundError) as found:
        st.events(tmp_path / "x[.jsonl")
    assert (found.value.errno, found.value.filename) == (errno.ENOENT, str(tmp_path / "x[.jsonl"))
    (tmp_path / "x[.jsonl").write_bytes(talk(1))
    assert sources(tmp_path / "x[.jsonl") == [str(tmp_path / "x[.jsonl")]
    with pytest.raises(ValueError, match=r"paths has a glob that is not valid, '.*/y\[\*'"):
        st.events(tmp_path / "y[*")


def test_invalid_inputs_are_refused():
    for wrong in [5, None, [5], [("a", "text")], [(1, b"x")], io.StringIO("text")]:
        with pytest.raises(TypeError, match="paths|name|content|binary"):
            st.events(wrong)
    with pytest.raises(ValueError, match="kind"):
        st.events([], kind="tapes")
    with pytest.raises(ValueError, match="no table 'tapes'"):
        st.table([], "tapes")
    with pytest.raises(TypeError, match="text_limit"):
        st.events([], text_limit="5")
    with pytest.raises(ValueError, match="text_limit"):
        st.events([], text_limit=-1)
    with pytest.raises(TypeError, match="on_progress"):
        st.events([], on_progress=5)
    for write in (st.to_delta, st.to_parquet):
        with pytest.raises(TypeError, match="tables"):
            write([], "lake", "events")
        with pytest.raises(ValueError, match="at least one"):
            write([], "lake", [])
        with pytest.raises(ValueError, match="separate"):
            write([], "lake", ["events", "runs"])
        with pytest.raises(ValueError, match="no table 'tapes'"):
            write([], "lake", ["tapes"])


@pytest.mark.parametrize(
    "name, error, call",
    [
        ("text_limit", ValueError, lambda: st.events([], text_limit=2**70)),
        ("kind", TypeError, lambda: st.events([], kind=[])),
        ("name", TypeError, lambda: st.table([], 5)),
        ("table", TypeError, lambda: st.schema(5)),
        ("uri", TypeError, lambda: st.to_delta([], 5)),
        ("uri", TypeError, lambda: st.to_delta([], b"lake")),
        ("uri", ValueError, lambda: st.forget("", "a")),
        ("sources", TypeError, lambda: st.forget("lake", 5)),
        ("directory", TypeError, lambda: st.to_parquet([], 5)),
        ("directory", ValueError, lambda: st.to_parquet([], "")),
        ("tables", TypeError, lambda: st.to_delta([], "lake", None)),
        ("tables", TypeError, lambda: st.to_parquet([], "lake", [5])),
        ("text_limit", TypeError, lambda: st.to_delta([], "lake", text_limit="5")),
        ("on_progress", TypeError, lambda: st.to_delta([], "lake", on_progress=5)),
        ("on_progress", TypeError, lambda: st.to_parquet([], "lake", on_progress=5)),
        ("left", TypeError, lambda: st.first_divergence(5, "a")),
        ("right", TypeError, lambda: st.first_divergence("a", None)),
        ("left", ValueError, lambda: st.first_divergence("", "a")),
    ],
)
def test_a_wrong_argument_is_named(tmp_path, monkeypatch, name, error, call):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=rf"^{name} "):
        call()
    assert not list(tmp_path.iterdir())


def test_missing_inputs_are_named(tmp_path):
    missing = tmp_path / "missing.jsonl"
    for call in [
        lambda: st.events(missing),
        lambda: st.events([missing]),
        lambda: st.events(f"{tmp_path}/*.jsonl"),
        lambda: st.events(iter([missing])).read_all(),
        lambda: st.to_delta(missing, tmp_path / "lake"),
        lambda: st.to_parquet(missing, tmp_path / "files"),
        lambda: st.first_divergence(missing, missing),
    ]:
        with pytest.raises(FileNotFoundError) as found:
            call()
        assert found.value.errno == errno.ENOENT and isinstance(found.value.filename, str)
        assert str(found.value) == f"[Errno 2] No such file or directory: {found.value.filename!r}"


def test_an_iterator_that_fails_fails_with_its_own_error():
    def broken():
        yield "a.jsonl", session(start())
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        st.events(broken()).read_all()


def test_a_file_that_can_not_be_read_is_a_row(closed):
    folder, forbidden = closed
    path = folder / "closed.jsonl"
    path.write_bytes(session(start()))
    with forbidden(path):
        [row] = st.table(path, "sessions").read_all().to_pylist()
    assert row["error"].startswith("Failed to read file: EACCES")


def test_a_directory_that_can_not_be_listed_is_a_row(closed):
    folder, forbidden = closed
    (folder / "inner").mkdir()
    for path in (folder / "a.jsonl", folder / "inner" / "b.jsonl"):
        path.write_bytes(session(start()))
    with forbidden(folder / "inner"):
        for paths in (folder, f"{folder}/**/*.jsonl", [folder / "a.jsonl", folder / "inner"]):
            first, second = st.table(paths, "sessions").read_all().to_pylist()
            assert (first["source"], first["error"]) == (f"{folder}/a.jsonl", None)
            assert second["source"] == f"{folder}/inner" and second["error"].startswith("Failed to list directory: Permission")
        [row] = st.table(folder / "inner", "runs").read_all().to_pylist()
        assert row["error"].startswith("Failed to list directory: Permission")
        [row] = st.table(folder / "inner" / "b.jsonl", "sessions").read_all().to_pylist()
        assert row["error"].startswith("Failed to read file: EACCES")
        with pytest.raises(PermissionError):
            st.first_divergence(folder / "a.jsonl", folder / "inner" / "b.jsonl")
        assert st.to_delta(folder, folder / "lake").rows["sessions"] == 2
    assert st.to_delta(folder, folder / "lake").sources == 1
    assert st.forget(folder / "lake", f"{folder}/inner")["sessions"] == 1
    assert [row["source"] for row in rows(folder / "lake")] == [f"{folder}/a.jsonl", f"{folder}/inner/b.jsonl"]


@pytest.mark.parametrize("content", ['{"name": "my-extension"}', "", "no JSON"])
def test_a_foreign_manifest_does_not_hide_recordings(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    (tmp_path / "s.jsonl").write_bytes(talk(1))
    assert sources(tmp_path) == [str(tmp_path / "s.jsonl")]
    (tmp_path / "inner").mkdir()
    shutil.copytree(GOLDEN, tmp_path / "inner" / "run")
    (tmp_path / "inner" / "manifest.json").write_text(content)
    assert st.table(tmp_path, "runs").read_all()["source"].to_pylist() == [str(tmp_path / "inner" / "run")]


@pytest.mark.parametrize("content", ['{"name":"app"}', "damaged", ""])
def test_a_run_next_to_a_foreign_manifest_is_a_run(tmp_path, content):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    (run / "manifest.json").write_text(content)
    found = {path: st.events(path, kind="runs").read_all().drop_columns("source") for path in (run, GOLDEN)}
    assert found[run].num_rows > 0 and found[run].equals(found[GOLDEN])
    [row], [expected] = (st.table(path, "runs", verify=True).read_all().to_pylist() for path in (run, GOLDEN))
    assert {**row, "source": ""} == {**expected, "source": ""} and row["error"] is None
    assert st.first_divergence(run, GOLDEN) is None
    assert st.to_delta(tmp_path, tmp_path / "lake", ["run_events"]).rows["run_events"] == found[GOLDEN].num_rows
    # With the checksum file of a bundle it is a bundle, even if its manifest is damaged.
    (run / "manifest.sha256").write_text("")
    [row] = st.table(run, "runs").read_all().to_pylist()
    assert row["error"]


def test_a_bundle_with_a_damaged_manifest_is_a_row_with_its_error(tmp_path):
    for name, more in [("a.cath-bundle", None), ("b", "manifest.sha256")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("damaged")
        (tmp_path / name / "session.jsonl").write_bytes(talk(1))
        if more:
            (tmp_path / name / more).write_text("")
    rows = st.table(tmp_path, "sessions").read_all().to_pylist()
    assert [row["source"] for row in rows] == [str(tmp_path / "a.cath-bundle"), str(tmp_path / "b")]
    assert all(row["error"] for row in rows)


def test_links_to_directories_are_followed_once(tmp_path):
    for name in ("d/one/a.jsonl", "d/two/b.jsonl", "far/c.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(talk(1))
    d = tmp_path / "d"
    expected = [str(d / "one" / "a.jsonl"), str(d / "two" / "b.jsonl")]
    for link, to in {"0": ".", "1": "..", "one/up": "..", "one/over": "../two", "two/over": "../one"}.items():
        (d / link).symlink_to(to)
    assert sources(d)[:2] == expected and len(sources(d)) == 3, "those that are not links come first"
    assert sources(d / "0")[:2] == [str(d / "0" / "one" / "a.jsonl"), str(d / "0" / "two" / "b.jsonl")]
    assert len(sources(f"{d}/**/*.jsonl")) == 2
    (d / "1").unlink()
    (d / "archive").symlink_to(tmp_path / "far")
    assert sources(d) == [*expected, str(d / "archive" / "c.jsonl")], "what is elsewhere is found"


def test_a_file_is_read_once_however_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "s.jsonl").write_bytes(talk(1))
    (tmp_path / "d" / "latest.jsonl").symlink_to("s.jsonl")
    every = ["d/s.jsonl", "./d/s.jsonl", "d//s.jsonl", "d/../d/s.jsonl", tmp_path / "d" / "s.jsonl", "d", "d/*.jsonl", "d/latest.jsonl"]
    assert sources(every) == sources(iter(every)) == ["d/s.jsonl"]
    assert sources(tmp_path / "d") == [str(tmp_path / "d" / "s.jsonl")], "it has its own name"
    assert sources("d/*.jsonl") == ["d/s.jsonl"]
    assert sources("d/latest.jsonl") == ["d/latest.jsonl"], "as given"
    report = st.to_delta(every, tmp_path / "lake")
    assert (report.sources, report.rows["sessions"]) == (1, 1)
    (tmp_path / "d" / "copy.jsonl").write_bytes(talk(1))
    assert sources("d") == ["d/copy.jsonl", "d/s.jsonl"], "a copy is another file"


def test_an_open_file_is_the_file_at_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_bytes(talk(1))
    for paths in ([open("s.jsonl", "rb"), "s.jsonl"], ["./s.jsonl", open("s.jsonl", "rb")], [open("s.jsonl", "rb", buffering=0), open("s.jsonl", "r+b")]):
        assert len(sources(paths)) == 1
    # What is given a name is a recording of its own, and so is what is not the whole file.
    assert sources(["s.jsonl", ("other", open("s.jsonl", "rb"))]) == ["s.jsonl", "other"]
    with open("s.jsonl", "rb") as file:
        file.readline()
        assert sources(["s.jsonl", file]) == ["s.jsonl", "s.jsonl"]
    Path("s.gz").write_bytes(gzip.compress(talk(2)))
    for file in (gzip.open("s.gz"), gzip.GzipFile("s.gz")):
        rows = st.table(["s.gz", file], "sessions").read_all().to_pylist()
        assert len(rows) == 2 and rows[1]["bytes"] == len(talk(2))
    # A file that was replaced is not the one that is open.
    with open("s.jsonl", "rb") as file:
        Path("new").write_bytes(talk(3))
        os.replace("new", "s.jsonl")
        assert len(sources(["s.jsonl", file])) == 2


def test_a_run_and_its_log_are_one_recording(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    log = run / "events.cath-log"
    expected = st.events(run, kind="runs").read_all().num_rows
    for paths in ([run, log], [log, run], iter([tmp_path, log]), [run, open(log, "rb")]):
        assert st.events(paths, kind="runs").read_all().num_rows == expected
    assert st.recordings([run, log], "runs") == [str(run)] and st.recordings([log, run], "runs") == [str(log)]


def test_a_file_that_can_not_be_compared_is_an_error_of_its_kind(closed):
    folder, forbidden = closed
    path, other = folder / "closed.jsonl", folder / "other.jsonl"
    for each in (path, other):
        each.write_bytes(talk(1))
    with forbidden(path), pytest.raises(PermissionError) as found:
        st.first_divergence(other, path)
    assert (found.value.errno, found.value.filename) == (errno.EACCES, str(path))


@pytest.mark.skipif(os.name != "posix", reason="the folder is that of POSIX")
def test_a_temporary_file_that_can_not_be_written_is_an_error_of_the_system(tmp_path):
    script = """
import sys, tempfile, session_tape as st
tempfile.tempdir = sys.argv[1]
for call in (lambda: st.events([("a", b"x" * 3_000_000)]).read_all(), lambda: st.table([("a", b"{}")], "runs").read_all()):
    try:
        call()
    except OSError as error:
        print(error)
"""
    missing = str(tmp_path / "missing")
    done = subprocess.run([sys.executable, "-c", script, missing], capture_output=True, text=True)
    expected = f"[Errno 2] A temporary file cannot be written: No such file or directory: {missing!r}"
    assert done.stdout.splitlines() == [expected] * 2, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="the folder is that of POSIX")
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("work", [lambda paths, to: st.to_delta(paths, to, ["sessions"]), lambda paths, _: st.table(paths, "sessions").read_all()])
def test_few_contents_are_in_temporary_files_at_the_same_time(tmp_path, monkeypatch, work, is_file):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    content = talk(1) + b" " * (4 << 20) + b"\n"
    kept = []

    def contents():
        for number in range(60):
            kept.append(len(list(folder.iterdir())))
            yield str(number), io.BytesIO(content) if is_file else content

    work(contents(), tmp_path / "lake")
    print(f"at most {max(kept)}")
    assert len(kept) == 60 and 0 < max(kept) <= 24
    assert not list(folder.iterdir())


def test_other_threads_run_while_inputs_are_read(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(session(start(), *[text("ai", "x" * 200)] * 60_000))
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    rows = sum(batch.num_rows for batch in st.events(tmp_path / "s.jsonl"))
    over.set()
    thread.join()
    assert rows == 60_001 and len(ticks) > 1000


def test_open_files_are_read_lazily(tmp_path):
    class Counted(io.BytesIO):
        asked = 0

        def read(self, size=-1):
            self.asked += 1
            assert 0 < size <= 1 << 20, "never all at once"
            return super().read(size)

    content = session(start(), *[text("ai", "x" * 200)] * 40_000)
    files = [Counted(content), Counted(b""), Counted(talk(1))]
    assert len(content) > 8 << 20
    reader = st.table([files[0], ("empty", files[1]), ("b", files[2]), ("c", memoryview(content))], "sessions")
    assert [file.asked for file in files] == [0, 0, 0]
    rows = reader.read_all().to_pylist()
    assert [(row["source"], row["bytes"]) for row in rows] == [("<file>", len(content)), ("empty", 0), ("b", len(talk(1))), ("c", len(content))]
    assert all(file.asked for file in files)
    (tmp_path / "closed.jsonl").write_bytes(b"")
    with open(tmp_path / "closed.jsonl", "rb") as closed:
        pass
    with pytest.raises(ValueError, match="closed file"):
        st.events(closed).read_all()
    with open(tmp_path / "closed.jsonl") as as_text, pytest.raises(TypeError, match="binary"):
        st.events(as_text)
    assert st.to_delta([("a", io.BytesIO(content)), ("b", content)], tmp_path / "lake").rows["events"] == 80_002


def test_several_streams_can_be_read_concurrently(fleet):
    expected = st.events(fleet).read_all()
    found = []
    threads = [threading.Thread(target=lambda: found.append(st.events(fleet).read_all())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(table.equals(expected) for table in found)


def test_rows_are_verified_against_their_bytes(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(talk(1))
    table = st.events(path).read_all()
    assert st.verify_rows(table).to_pylist() == [True] * table.num_rows
    content = bytearray(path.read_bytes())
    content[table["byte_offset"][2].as_py() + 5] ^= 1
    path.write_bytes(content)
    assert [at for at, is_same in enumerate(st.verify_rows(table).to_pylist()) if not is_same] == [2]
    path.unlink()
    assert st.verify_rows(table.slice(0, 2)).to_pylist() == [False, False]
    unknown = table.slice(0, 1).set_column(0, "source", pa.array([None], pa.string()))
    assert st.verify_rows(unknown).to_pylist() == [None]
    with pytest.raises(ValueError, match="line_sha256"):
        st.verify_rows(table.drop_columns(["line_sha256"]))
    with pytest.raises(ValueError, match="byte_offset"):
        st.verify_rows(table.set_column(4, "byte_offset", pa.array([["x"]] * table.num_rows)))
    with pytest.raises(TypeError, match="stream"):
        st.verify_rows([1])


def test_type_annotations_name_the_accepted_inputs():
    contents = typing.get_args(st.Recording)
    for content in (typing.Union[bytes, bytearray, memoryview], typing.IO[bytes]):
        assert tuple[str, content] in contents
    for module in (st, session_tape.__main__):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            parameters = inspect.signature(function).parameters
            assert {*parameters, "return"} == set(function.__annotations__) or function.__module__ != module.__name__, name
