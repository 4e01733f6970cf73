"""The rows of `tool_calls` and of `sessions`."""

import datetime
import hashlib

import pytest

import pyarrow as pa

import session_tape as st
from recordings import answer, call, session, start, text


def calls(*records):
    return st.table([("s.jsonl", session(*records))], "tool_calls").read_all().to_pylist()


def test_the_columns_are_those_of_the_documentation():
    assert st.schema("tool_calls").names == [
        "source", "session_id", "tool_call_id", "tool_name", "arguments", "arguments_hash", "called_line", "called_at",
        "answered_line", "answered_at", "duration", "is_error", "result_bytes", "result_text", "answers", "provider", "model", "turn", "date",
    ]  # fmt: skip
    assert (st.schema("tool_calls").field("duration").type, st.table([], "tool_calls").schema.field("duration").type) == (pa.int64(), pa.duration("us"))


def test_a_call_is_joined_with_its_answer():
    [row] = calls(start(), text("human", "x"), call("a", path="/ä"), text("ai", "…"), answer("a", result={"n": 1}, error="no"))
    assert (row["tool_call_id"], row["tool_name"], row["arguments"]) == ("a", "run", '{"path": "/ä"}')
    assert row["arguments_hash"] == hashlib.sha256('{"path": "/ä"}'.encode()).digest()
    assert (row["called_line"], row["answered_line"], row["answers"], row["is_error"]) == (3, 5, 1, True)
    assert (row["duration"], row["turn"], row["provider"]) == (datetime.timedelta(seconds=2), 1, "openai")
    assert (row["result_text"], row["result_bytes"]) == ('{"n": 1}', 8)


def test_answers_belong_to_the_nearest_open_call():
    first, second = calls(start(), call("a"), call("a"), answer("a", result="late"), answer("a", result="early"), answer("a"))
    assert (first["answered_line"], first["result_text"], first["answers"]) == (5, "early", 2)
    assert (second["answered_line"], second["result_text"], second["answers"]) == (4, "late", 1)
    [alone] = calls(start(), answer("a"), call("a"))
    assert (alone["answers"], alone["answered_line"], alone["is_error"], alone["result_bytes"]) == (0, None, None, None)


def test_an_answer_finds_its_call_however_much_comes_between_them():
    between = [one for at in range(700) for one in (call(f"b{at}"), answer(f"b{at}", result="x" * 65_000))]
    rows = calls(start(), call("late"), call("never"), *between, answer("never2"), answer("late", result="here"))
    by_id = {row["tool_call_id"]: row for row in rows}
    assert len(rows) == len(by_id) == 702
    assert (by_id["late"]["called_line"], by_id["late"]["answers"], by_id["late"]["result_text"]) == (2, 1, "here")
    assert (by_id["late"]["answered_line"], by_id["never"]["answers"]) == (4 + 2 * 700 + 1, 0)
    assert {by_id[f"b{at}"]["answers"] for at in range(700)} == {1}


@pytest.mark.parametrize(("error", "is_error"), [(None, False), ("", False), (False, False), ("no", True), ({}, True), (0, True)])
def test_answers_are_classified_as_errors(error, is_error):
    more = {"error": error}
    response = "content", {"content": {"speaker": "tool", "blocks": [{"type": "tool_response", "callId": "a", "toolName": "t", **more}]}}
    assert [row["is_error"] for row in calls(start(), call("a"), response)] == [is_error]


def test_tool_calls_of_a_whole_session():
    records = [
        start(),
        text("human", "1"),
        call("a", "b"),
        answer("a", error="no"),
        answer("b"),
        ("rewind", {"itemsRemoved": 1}),
        ("provider_switch", {"provider": "other", "model": "large"}),
        ("session_metadata", {"title": "about ä"}),
        ("session_named", {"name": "mine"}),
        ("future", {}),
    ]
    content = session(*records) + b'{"torn'
    [row] = st.table([("s.jsonl", content)], "sessions").read_all().to_pylist()
    expected = {
        "session_id": "s", "project_hash": "p", "title": "about ä", "name": "mine", "parent_session_id": None, "provider_start": "openai",
        "model_start": "small", "provider_end": "other", "model_end": "large", "lines": 11, "bytes": len(content), "turns": 1,
        "tool_calls": 2, "tool_errors": 1, "compressions": 0, "rewinds": 1, "history_length": 3, "sequence_corrupt": False, "error": None,
        "type_content": 4, "type_other": 1, "type_session_start": 1, "status_ok": 9, "status_unknown": 1, "status_torn": 1,
        "status_malformed": 0,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["started_at"] == datetime.datetime(2026, 2, 11, 16, tzinfo=datetime.timezone.utc)
    assert row["last_at"] == datetime.datetime(2026, 2, 11, 16, 0, 9, tzinfo=datetime.timezone.utc)


def test_a_corrupt_sequence_is_reported():
    content = session(start(), text("ai", "x")) + session(text("ai", "y"))
    [row] = st.table([("s.jsonl", content)], "sessions").read_all().to_pylist()
    assert row["sequence_corrupt"] is True
