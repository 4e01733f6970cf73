"""Sessions of other programs in the tables: their rows are events, whose places are those of the records that they come from."""

import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as any_

import session_tape as st
from foreign import EXPECTED, claude, dialogue, fixture, jsonl, storage, tool_result, tool_use
from lake import content, is_consistent, rows
from recordings import session, start, talk, text

FIXTURES = sorted(EXPECTED)


def events(paths, **options):
    return st.events(paths, **options).read_all()


def sessions(paths):
    return st.table(paths, "sessions").read_all().to_pylist()


def calls(paths):
    return st.table(paths, "tool_calls").read_all().to_pylist()


def of_history(rows):
    return sorted((row for row in rows if row["in_history"]), key=lambda row: row["history_index"])


@pytest.mark.parametrize("name", FIXTURES)
def test_tables_say_what_an_independent_converter_reads(name):
    expected, path = EXPECTED[name], fixture(name)
    rows = events(path).to_pylist()
    assert len(rows) == expected["events"]
    assert {row["source_format"] for row in rows} == {expected["format"]}
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert {row["status"] for row in rows} == {"ok"}
    history = of_history(rows)
    assert [row["history_index"] for row in history] == list(range(len(history)))
    speakers = [row["speaker"] for row in history]
    assert {speaker: speakers.count(speaker) for speaker in ("human", "ai", "tool")} == expected["items"]
    assert sum(row["tool_calls"] for row in history) == expected["toolCalls"]
    texts = "\n".join(row["text"] for row in history if row["text"] is not None)
    assert hashlib.sha256(texts.encode()).hexdigest() == expected["textSha256"]
    (row,) = sessions(path)
    assert row["error"] is None and row["sequence_corrupt"] is False
    assert (row["rewinds"], row["compressions"], row["history_length"]) == (expected["rewinds"], expected["compactions"], len(history))
    assert (row["lines"], row["bytes"]) == (expected["events"], path.stat().st_size)
    assert row["file_sha256"] == hashlib.sha256(path.read_bytes()).digest()
    assert row["session_id"] == (expected["sessionId"] or None)
    assert {row["session_id"] for row in rows} == {row["session_id"]}
    damaged = row["status_unparseable"] + row["status_torn"]
    assert damaged == expected["droppedBy"].get("unparseable", 0)
    if not (expected["rewinds"] or expected["compactions"]):
        found = calls(path)
        assert (len(found), sum(call["is_error"] or 0 for call in found)) == (expected["toolCalls"], expected["failed"])


@pytest.mark.parametrize("name", FIXTURES)
def test_rows_have_the_places_of_records_and_verify(name):
    path = fixture(name)
    content, table = path.read_bytes(), events(path)
    assert st.verify_rows(table).to_pylist() == [True] * len(table)
    ends = {end for end, byte in enumerate(content) if byte == ord("\n")} | {len(content)}
    for row in table.to_pylist():
        begin, length = row["byte_offset"], row["byte_length"]
        assert row["line"] == content[:begin].count(b"\n") + 1
        record = content[begin : begin + length]
        assert hashlib.sha256(record).digest() == row["line_sha256"]
        if name.endswith(".jsonl"):
            assert begin in {0, *(end + 1 for end in ends)} and begin + length in ends, "a whole line"
        elif begin:
            assert isinstance(json.loads(record), dict), "an element of the document"
        else:
            assert record.endswith(b"["), "the document up to its records"


def test_a_row_comes_from_the_first_record_of_its_event():
    places = [(row["type"], row["line"]) for row in events(fixture("made/claude-mixed.jsonl")).to_pylist()]
    # Line 3 is a prompt, 4 to 6 are one response, whose result in line 8 comes before the prompt of line 7, which was queued meanwhile.
    content = [line for kind, line in places if kind == "content"]
    assert content == [3, 4, 8, 7, 10, 12, 13]
    assert places[0] == ("session_start", 3), "no record states it, so it is at the first event"


def test_a_document_has_its_head_and_its_elements():
    path = fixture("gemini/agentsview-tool_calls_with_results.json")
    rows = events(path).to_pylist()
    content = path.read_text()
    messages = json.loads(content)["messages"]
    assert [row["type"] for row in rows] == ["session_start", "content", "content", "content"]
    found = [content[row["byte_offset"] : row["byte_offset"] + row["byte_length"]] for row in rows]
    assert content.startswith(found[0]) and found[0].endswith("[")
    # A response and the results of its calls are one message.
    assert [json.loads(one) for one in found[1:]] == [messages[0], messages[1], messages[1]]
    assert {(call["called_line"], call["answered_line"]) for call in calls(path)} == {(rows[2]["line"], rows[2]["line"])}


def test_native_sessions_say_so(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(talk(1))
    (tmp_path / "b.jsonl").write_bytes(b"no session\n{}\n")
    table = events(tmp_path)
    assert set(table["source_format"].to_pylist()) == {"native"}
    assert pa.types.is_dictionary(table.schema.field("source_format").type)
    assert st.schema("events").field("source_format").type == pa.string()


def test_a_directory_may_mix_formats(tmp_path):
    for name in FIXTURES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(fixture(name), tmp_path / name)
    (tmp_path / "native.jsonl").write_bytes(talk(1))
    (tmp_path / "broken.jsonl").write_bytes(b"{not json")
    lines = [name for name in FIXTURES if name.endswith(".jsonl")]
    table = events(tmp_path)
    assert all(st.verify_rows(table).to_pylist())
    found = {(row["source"].removeprefix(f"{tmp_path}/"), row["source_format"]) for row in table.to_pylist()}
    assert found == {*((name, EXPECTED[name]["format"]) for name in lines), ("native.jsonl", "native"), ("broken.jsonl", "native")}
    documents = [name for name in FIXTURES if name.endswith(".json")]
    found = {row["source"].removeprefix(f"{tmp_path}/") for row in sessions(f"{tmp_path}/*/*.json") if not row["error"]}
    assert found == set(documents), "documents are found by a glob"


def test_bytes_files_and_archives_give_the_rows_of_the_file(tmp_path):
    for name in FIXTURES:
        path = fixture(name)
        content = path.read_bytes()
        named = tmp_path / "session.jsonl"
        archive = tmp_path / "session.jsonl.zst"
        named.write_bytes(content)
        expected = [events(named).drop(["source"]), calls(named), sessions(named)]
        archive.write_bytes(pa.compress(content, "zstd", asbytes=True))
        with open(named, "rb") as file:
            from_file = events(file).drop(["source"])
        from_bytes, from_stream = (events([("x", one)]).drop(["source"]) for one in (content, io.BytesIO(content)))
        named.unlink()
        from_archive = events(archive)
        assert st.verify_rows(from_archive).to_pylist() == [True] * len(from_archive), "places in the uncompressed text"
        assert events(named).to_pylist() == [{**row, "source": str(named)} for row in from_archive.to_pylist()], "by the path of the session"
        for other in (from_file, from_bytes, from_stream, from_archive.drop(["source"])):
            assert other.to_pylist() == expected[0].to_pylist(), name
        for found, rows in ((calls(archive), expected[1]), (sessions(archive), expected[2])):
            assert [{**row, "source": ""} for row in found] == [{**row, "source": ""} for row in rows]
        archive.unlink()


# Conversations


def test_a_source_with_several_conversations_asks_to_choose(tmp_path):
    path = tmp_path / "storage.json"
    path.write_bytes(storage("ses_one", "ses_two"))
    assert len(events(path)) == 0
    (row,) = sessions(path)
    assert row["error"] == "Several conversations: ses_one, ses_two (choose one)"
    assert (row["bytes"], row["file_sha256"]) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).digest())


def test_each_conversation_of_a_source_is_a_recording_of_its_own(tmp_path):
    path = tmp_path / "storage.json"
    path.write_bytes(storage("ses_one", "ses_two"))
    both = [f"{path}#ses_one", f"{path}#ses_two"]
    assert st.recordings(both) == both
    table = events([*both, both[0]])
    assert all(st.verify_rows(table).to_pylist())
    found = [(row["source"], row["session_id"], row["text"]) for row in table.to_pylist() if row["speaker"]]
    assert found == [(f"{path}#{one}", one, f"{what} of {one}") for one in ("ses_one", "ses_two") for what in ("question", "answer")]
    one, two = sessions(both)
    assert (one["title"], two["title"]) == ("title of ses_one", "title of ses_two")
    assert one["file_sha256"] == two["file_sha256"]
    divergence = st.first_divergence(*both)
    assert divergence is not None and (divergence.divergence_event, divergence.kind) == (1, "EventMismatch")
    assert st.first_divergence(both[0], both[0]) is None


def test_a_conversation_of_an_agent_within_a_session_can_be_chosen():
    path = fixture("made/claude-mixed.jsonl")
    main, agent = events(path), events(f"{path}#ag1")
    assert all(st.verify_rows(agent).to_pylist())
    lines = [row["line"] for row in agent.to_pylist()]
    assert lines == [9, 9] and 9 not in main["line"].to_pylist()


def test_a_conversation_of_an_archived_session_is_named_by_either_path(tmp_path):
    archive = tmp_path / "storage.jsonl.zst"
    archive.write_bytes(pa.compress(storage("ses_one", "ses_two"), "zstd", asbytes=True))
    for path in (archive, archive.with_suffix("")):
        table = events(f"{path}#ses_two")
        assert set(table["source"].to_pylist()) == {f"{path}#ses_two"}
        assert all(st.verify_rows(table).to_pylist())
    assert st.first_divergence(f"{archive}#ses_one", f"{archive.with_suffix('')}#ses_one") is None


def test_what_is_at_a_path_comes_before_the_conversation_that_it_may_name(tmp_path):
    (tmp_path / "a.json").write_bytes(storage("ses_one", "b.jsonl"))
    (tmp_path / "a.json#b.jsonl").write_bytes(talk(3))
    assert set(events(tmp_path / "a.json#b.jsonl")["session_id"].to_pylist()) == {"session-3"}


def test_conversations_that_do_not_exist(tmp_path):
    path, native = tmp_path / "storage.json", tmp_path / "native.jsonl"
    path.write_bytes(storage("ses_one", "ses_two"))
    native.write_bytes(talk(1))
    assert [row["error"] for row in sessions(f"{path}#ses_three")] == ["No conversation ses_three"]
    for missing in (f"{native}#ses_one", f"{tmp_path}/missing.json#ses_one", f"{path}#"):
        with pytest.raises(FileNotFoundError):
            st.events(missing)
        with pytest.raises(FileNotFoundError):
            st.first_divergence(missing, native)


def test_the_name_of_bytes_may_name_a_conversation(tmp_path):
    content = storage("ses_one", "ses_two")
    assert set(events([("s3://bucket/storage.json#ses_two", content)])["session_id"].to_pylist()) == {"ses_two"}
    (row,) = sessions([("storage.json#2", content)])
    assert row["error"] == "Several conversations: ses_one, ses_two (choose one)", "# is part of the name"
    assert {row["session_id"] for row in sessions([("a#1", talk(1)), ("b#1", dialogue(1))])} == {"session-1", "s-claude"}


@pytest.mark.skipif(os.name != "posix", reason="paths are bytes on POSIX")
def test_a_conversation_of_a_path_that_is_not_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/100%\xff.json"
    with open(path, "wb") as file:
        file.write(storage("ses_one", "50%25"))
    for conversation in ("ses_one", "50%25"):
        table = events(os.fsdecode(path + b"#" + conversation.encode()))
        (name,) = set(table["source"].to_pylist())
        assert all(st.verify_rows(table).to_pylist()) and len(table) > 2
        assert st.recordings(name) == [name], "a name is a path"


# Items that are written again


def test_an_item_that_is_written_again_is_counted_once():
    """Branches of a tree are repeated when they are taken up, and compactions keep items: those are the same items."""
    path = fixture("made/claude-branches.jsonl")
    rows = events(path).to_pylist()
    places = [(row["line"], row["text"]) for row in rows if row["type"] == "content"]
    assert len(places) > len(set(places)), "there are copies"
    assert rows[-1]["turn"] == len({line for line, _ in places} & {row["line"] for row in rows if row["speaker"] == "human"})
    (row,) = sessions(path)
    assert row["turns"] == rows[-1]["turn"]


def tree(draw):
    """A session of Claude Code whose records follow any earlier one."""
    records, uuids = [claude("user", "n0", None, "question 0")], ["n0"]
    for at in range(1, draw(any_.integers(1, 12))):
        parent = draw(any_.sampled_from(uuids))
        is_answer = parent.startswith("n")
        uuid = f"{'c' if is_answer else 'n'}{at}"
        content = [tool_use(f"call-{at}"), {"type": "text", "text": f"answer {at}"}] if is_answer else f"question {at}"
        records.append(claude("assistant" if is_answer else "user", uuid, parent, content, at))
        if is_answer:
            records.append(claude("user", f"r{at}", uuid, [tool_result(f"call-{at}", is_error=at % 2 == 0)], at))
        uuids.append(uuid)
    return records


@given(any_.composite(tree)())
def test_calls_and_turns_of_a_tree_are_counted_once(tmp_path_factory, records):
    path = tmp_path_factory.getbasetemp() / "tree.jsonl"
    path.write_bytes(jsonl(*records))
    table = events(path)
    assert all(st.verify_rows(table).to_pylist())
    ids = [record["message"]["content"][0]["id"] for record in records if record["type"] == "assistant"]
    found = calls(path)
    assert sorted(call["tool_call_id"] for call in found) == sorted(ids)
    lines = {record["uuid"]: at + 1 for at, record in enumerate(records)}
    for call in found:
        number = call["tool_call_id"].removeprefix("call-")
        assert (call["called_line"], call["answered_line"], call["answers"]) == (lines[f"c{number}"], lines[f"r{number}"], 1)
    (row,) = sessions(path)
    turns = sum(record["uuid"].startswith("n") for record in records)
    assert (row["turns"], row["tool_calls"], row["tool_errors"]) == (turns, len(ids), sum(call["is_error"] for call in found))
    for event in table.to_pylist():
        if event["speaker"]:
            record = records[event["line"] - 1]
            assert record["message"]["role"] == {"human": "user", "ai": "assistant", "tool": "user"}[event["speaker"]]
            assert event["text"] is None or event["text"] in json.dumps(record)


# Damage


def test_damaged_records_are_counted(tmp_path):
    path = tmp_path / "s.jsonl"
    records = dialogue(2).decode().splitlines()
    path.write_text("\n".join([records[0], "{damaged", *records[1:], "[1]", "7", '{"type":"user","me']))
    rows = events(path).to_pylist()
    assert [row["line"] for row in rows] == [1, 1, 3, 4, 5, 6, 7, 8, 9]
    (row,) = sessions(path)
    assert [row[f"status_{status}"] for status in ("ok", "malformed", "unknown", "unparseable", "torn")] == [9, 2, 0, 1, 1]
    assert row["error"] is None
    path.write_text("\n".join([*records, "{damaged", ""]))
    (row,) = sessions(path)
    assert (row["status_unparseable"], row["status_torn"]) == (0, 1), "the last line, as in a native session"


def test_an_archive_counts_up_to_its_first_damaged_frame(tmp_path):
    path = tmp_path / "s.jsonl.zst"
    content = dialogue(400)
    first, rest = content[: len(content) // 2], content[len(content) // 2 :]
    frames = [bytearray(pa.compress(part, "zstd", asbytes=True)) for part in (first, rest)]
    frames[1][len(frames[1]) // 2 :] = b"\0" * (len(frames[1]) - len(frames[1]) // 2)
    path.write_bytes(frames[0] + frames[1])
    table = events(path)
    assert all(st.verify_rows(table).to_pylist())
    lines = first.count(b"\n")
    assert lines <= table["line"].to_pylist()[-1] < content.count(b"\n")


LINES = [fixture(name).read_bytes() for name in FIXTURES if name.endswith(".jsonl") and fixture(name).stat().st_size < 100_000]
DOCUMENTS = [fixture(name).read_bytes() for name in FIXTURES if name.endswith(".json")]


@settings(max_examples=150)
@given(any_.sampled_from(LINES), any_.integers(0, 1 << 30), any_.one_of(any_.none(), any_.integers(0, 255)))
def test_rows_of_damaged_sessions_verify(tmp_path_factory, content, at, byte):
    """Any beginning of a session, or a session with another byte in some place."""
    at %= len(content)
    damaged = content[:at] if byte is None else content[:at] + bytes([byte]) + content[at + 1 :]
    check_damaged(tmp_path_factory.getbasetemp() / "damaged.jsonl", damaged)


@settings(max_examples=50)
@given(any_.sampled_from(DOCUMENTS), any_.integers(0, 1 << 30), any_.integers(0, 255))
def test_rows_of_damaged_documents_verify(tmp_path_factory, content, at, byte):
    at %= len(content)
    check_damaged(tmp_path_factory.getbasetemp() / "damaged.json", content[:at] + bytes([byte]) + content[at + 1 :])


def check_damaged(path, damaged):
    path.write_bytes(damaged)
    table = events(path)
    assert st.verify_rows(table).to_pylist() == [True] * len(table)
    (row,) = sessions(path)
    assert (row["lines"], row["bytes"]) == (len(table), len(damaged))
    assert row["file_sha256"] == hashlib.sha256(damaged).digest()
    for event in table.to_pylist():
        assert event["line"] == damaged[: event["byte_offset"]].count(b"\n") + 1
    lines = {event["line"] for event in table.to_pylist()}
    assert {call["called_line"] for call in calls(path)} <= lines


def test_rows_that_do_not_come_from_the_file_do_not_verify(tmp_path):
    path = tmp_path / "s.jsonl"
    content = dialogue(3)
    path.write_bytes(content)
    table = events(path)
    path.write_bytes(content.replace(b"question 1", b"question 7"))
    wrong = [row["line"] for row, right in zip(table.to_pylist(), st.verify_rows(table).to_pylist()) if not right]
    assert wrong == [5]


# Ids, times, parts, steps


def test_the_id_of_a_session_that_has_none_is_null():
    path = fixture("cursor/letta-cursor-tool-calls.jsonl")
    table = events(path, include_payload=True)
    assert table.equals(events(path, include_payload=True)), "nothing is made up anew each time"
    assert set(table["session_id"].to_pylist()) == {None}
    assert json.loads(table["payload"][0].as_py())["sessionId"] == "unknown"
    assert [(row["session_id"], row["error"]) for row in sessions(path)] == [(None, None)]
    assert {call["session_id"] for call in calls(path)} == {None}


def test_times_that_a_session_does_not_state_are_null(tmp_path):
    path = fixture("cursor/letta-cursor-tool-calls.jsonl")
    assert set(events(path)["ts"].to_pylist()) == {None}
    (row,) = sessions(path)
    assert (row["started_at"], row["last_at"]) == (None, None)
    st.to_parquet(path, tmp_path / "out", tables=["events"])
    assert [one.name for one in (tmp_path / "out/events").iterdir()] == ["date=__HIVE_DEFAULT_PARTITION__"]


def test_a_large_session_is_read_in_parts_with_the_places_of_its_records(tmp_path, monkeypatch):
    path = tmp_path / "large.jsonl"
    turns = 12_000
    content = dialogue(turns)
    assert len(content) > 9 << 20
    path.write_bytes(content)
    table = events(path)
    assert table["line"].to_pylist() == [1, *range(1, 4 * turns + 1)]
    assert table["turn"].to_pylist()[-1] == turns
    assert pa.compute.all(st.verify_rows(table)).as_py()
    found = st.table(path, "tool_calls").read_all()
    assert found["called_line"].to_pylist() == [4 * turn + 2 for turn in range(turns)]
    assert found["answered_line"].to_pylist() == [4 * turn + 3 for turn in range(turns)]
    (row,) = sessions(path)
    assert (row["lines"], row["bytes"], row["file_sha256"]) == (4 * turns + 1, len(content), hashlib.sha256(content).digest())
    read = []
    monkeypatch.setenv("SESSION_TAPE_THREADS", "1")
    alone = st.events(path, on_progress=lambda files, done: read.append((files, done))).read_all()
    assert alone.equals(table)
    assert read == sorted(read) and read[-1] == (1, len(content))


def test_progress_of_small_sessions_adds_up(tmp_path):
    paths = [fixture(name) for name in FIXTURES]
    read = []
    st.events(paths, on_progress=lambda files, done: read.append((files, done))).read_all()
    assert read[-1] == (len(paths), sum(path.stat().st_size for path in paths))


def test_prefixes_part_where_the_conversations_diverge(tmp_path):
    records = [json.loads(line) for line in dialogue(3).splitlines()]
    other = [*records[:7], claude("assistant", "other", "r1", [{"type": "text", "text": "another answer"}]), *records[8:]]
    left, right, native = (tmp_path / name for name in ("left.jsonl", "right.jsonl", "native.jsonl"))
    left.write_bytes(jsonl(*records))
    right.write_bytes(jsonl(*other))
    rows = [events(path).to_pylist() for path in (left, right)]
    first = min(a["step"] for a, b in zip(*rows) if a["prefix_hash"] != b["prefix_hash"])
    divergence = st.first_divergence(left, right)
    assert divergence is not None and divergence.divergence_event == first
    native.write_bytes(session(start(sessionId="s-claude"), text("human", "question 0")))
    assert st.first_divergence(left, native) is not None


# Delta Lake


@pytest.fixture
def mixed(tmp_path):
    """A folder with sessions of several programs."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("made/claude-mixed.jsonl", "codex/letta-codex-tool-calls.jsonl", "pi/letta-pi-tool-calls.jsonl", "cursor/letta-cursor-cleanup.jsonl"):
        shutil.copy(fixture(name), folder)
    (folder / "native.jsonl").write_bytes(talk(1))
    return folder


def test_a_lake_is_kept_equal_to_sessions_of_several_programs(mixed, tmp_path):
    lake = tmp_path / "lake"
    assert st.to_delta(mixed, lake).sources == 5
    assert rows(lake, "events") == expected_rows(mixed)
    assert is_consistent(lake)
    assert {str(row["source_format"]) for row in rows(lake, "events")} == {"claude", "codex", "pi", "cursor", "native"}
    dates = {Path(row["source"]).name: row["date"] for row in rows(lake)}
    assert (str(dates["claude-mixed.jsonl"]), dates["letta-cursor-cleanup.jsonl"]) == ("2026-09-01", None)
    assert st.to_delta(mixed, lake).unchanged == 5, "nothing is written again"

    with open(mixed / "claude-mixed.jsonl", "ab") as file:
        file.write(b"\n" + jsonl(claude("user", "late", "a5", "a late question")))
    (mixed / "letta-pi-tool-calls.jsonl").write_bytes(dialogue(2))
    gone = mixed / "letta-codex-tool-calls.jsonl"
    before = [row for row in rows(lake, "events") if row["source"] == str(gone)]
    gone.unlink()
    report = st.to_delta(mixed, lake)
    assert (report.sources, report.unchanged) == (2, 2)
    assert before and rows(lake, "events") == sorted(expected_rows(mixed) + before, key=by_place)
    assert is_consistent(lake)
    assert st.forget(lake, str(gone)) == {"sources": 1, "events": len(before), "tool_calls": 3, "sessions": 1}
    assert rows(lake, "events") == expected_rows(mixed)


def test_conversations_are_sources_of_a_lake(tmp_path):
    path, lake = tmp_path / "storage.json", tmp_path / "lake"
    both = [f"{path}#ses_one", f"{path}#ses_two"]
    path.write_bytes(storage("ses_one", "ses_two"))
    assert st.to_delta(both, lake).rows == {"events": 8, "tool_calls": 0, "sessions": 2}
    assert st.to_delta(reversed(both), lake).unchanged == 2
    assert [(row["source"], str(row["date"])) for row in rows(lake)] == [(both[0], "2026-01-02"), (both[1], "2026-01-03")]
    path.write_bytes(storage("ses_one", "ses_three"))
    assert st.to_delta([*both, f"{path}#ses_three"], lake).sources == 3
    assert [(row["session_id"], row["error"]) for row in rows(lake)] == [("ses_one", None), ("ses_three", None), (None, "No conversation ses_two")]
    assert {row["source"] for row in rows(lake, "events")} == {both[0], f"{path}#ses_three"}
    assert st.forget(lake, both[1])["sessions"] == 1
    assert is_consistent(lake)


def test_a_lake_of_the_schema_before_gets_the_format_of_its_sources(mixed, tmp_path):
    lake = tmp_path / "lake"
    native = mixed / "native.jsonl"
    st.to_delta(native, lake)
    current = content(lake)
    for table in ("events", "sources"):
        found = pa.RecordBatchReader.from_stream(DeltaTable(lake / table).scan()).read_all()
        if table == "events":
            found = found.drop(["source_format"])
        else:
            at = found.schema.get_field_index("schema_version")
            found = found.set_column(at, "schema_version", pa.array(["1"], pa.string()))
        shutil.rmtree(lake / table)
        write_deltalake(lake / table, found, partition_by=["date"] if table == "events" else None)
    assert "source_format" not in rows(lake, "events")[0]
    assert st.to_delta(native, lake).sources == 1, "the columns of its rows have changed"
    assert [sorted(row.items()) for row in rows(lake, "events")] == [sorted(row.items()) for row in current["events"]]
    assert st.to_delta(mixed, lake).sources == 4
    assert {row["source_format"] for row in rows(lake, "events")} == {"claude", "codex", "pi", "cursor", "native"}


def by_place(row):
    return (row["source"], row["line"], row["seq"])


def expected_rows(folder):
    """The rows of `events` as a lake has them, without it."""
    dates = {row["source"]: row["started_at"].date() if row["started_at"] else None for row in sessions(folder)}
    return sorted(({**row, "date": dates[row["source"]]} for row in events(folder).to_pylist()), key=by_place)
