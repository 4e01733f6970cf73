"""Archived sessions: `NAME.jsonl.zst` in place of `NAME.jsonl`."""

import shutil
import subprocess

import pyarrow as pa
import pytest

import session_tape as st
from foreign import dialogue, fixture
from lake import content
from recordings import talk
from test_bundles import ROOT

zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")

needs_addon = pytest.mark.skipif(
    shutil.which("node") is None or not list(ROOT.glob("*.node")),
    reason="the addon of the npm package, which archives sessions, is not built here",
)


def archived(path):
    """Has the npm package archive a session. Returns the path of the archive."""
    script = "require(process.argv[1]).archiveSession(process.argv[2]).catch((error) => { console.error(error); process.exit(1) })"
    subprocess.run(["node", "-e", script, ROOT / "index.js", path], check=True, capture_output=True)
    assert not path.exists()
    return path.with_name(f"{path.name}.zst")


def compressed(text):
    """One frame of the package zstandard, with a checksum, and without the size of its content."""
    return zstandard.ZstdCompressor(level=19, write_checksum=True, write_content_size=False).compress(text)


def tables(path):
    return [st.table(path, table).read_all().to_pylist() for table in ("events", "tool_calls", "sessions")]


@needs_addon
def test_the_package_zstandard_reads_what_is_archived(tmp_path):
    path = tmp_path / "s.jsonl"
    # Longer than a frame of an archive.
    text = talk(1, turns=8000)
    assert len(text) > 5 << 20
    path.write_bytes(text)
    with open(archived(path), "rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader:
        assert reader.read() == text


@needs_addon
def test_an_archived_session_has_the_rows_of_the_session(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(talk(1, turns=300))
    expected = tables(path)
    archive = archived(path)
    for named in (path, tmp_path):
        assert tables(named) == expected, "under its own name"
    assert all(st.verify_rows(st.events(path).read_all()).to_pylist()), "places in the uncompressed text"
    assert st.recordings(archive) == [str(archive)], "as given"
    assert all(st.verify_rows(st.events(archive).read_all()).to_pylist())
    assert st.first_divergence(path, archive) is None


def test_archiving_changes_nothing_in_a_lake(tmp_path):
    folder, lake = tmp_path / "sessions", tmp_path / "lake"
    folder.mkdir()
    native, other = folder / "native.jsonl", folder / "other.jsonl"
    native.write_bytes(talk(1))
    shutil.copy(fixture("codex/letta-codex-tool-calls.jsonl"), other)
    st.to_delta(folder, lake)
    before = content(lake)
    for path in (native, other):
        path.with_name(f"{path.name}.zst").write_bytes(compressed(path.read_bytes()))
        path.unlink()
    assert st.to_delta(folder, lake).unchanged == 2
    assert content(lake) == before
    native.write_bytes(talk(2))
    assert st.recordings(folder) == [str(native), str(other)], "where both exist the session's own file counts"
    assert st.to_delta(folder, lake).sources == 1


@pytest.mark.parametrize("text", [talk(3, turns=300), dialogue(300)], ids=["native", "claude"])
def test_what_the_package_zstandard_writes_is_read(tmp_path, text):
    path, archive = tmp_path / "s.jsonl", tmp_path / "s.jsonl.zst"
    path.write_bytes(text)
    expected = tables(path)
    path.unlink()
    middle = len(text) // 3
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    for packed in (compressed(text), compressed(text[:middle]) + compressed(text[middle:]), skippable + compressed(text), pa.compress(text, "zstd", asbytes=True)):
        archive.write_bytes(packed)
        assert tables(path) == expected
        assert all(st.verify_rows(st.events(archive).read_all()).to_pylist())
        found = st.events([("bytes", packed)]).read_all().to_pylist()
        assert found == [{**row, "source": "bytes"} for row in expected[0]]
