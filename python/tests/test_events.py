"""The rows of `events`: their values, and the effect of damage."""

import hashlib
import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as any_

import session_tape as st
from lake import rows as rows_in
from recordings import answer, call, lines, session, start, text


def rows(content, **options):
    return st.events([("s.jsonl", content)], **options).read_all().to_pylist()


def column(content, name, **options):
    return [row[name] for row in rows(content, **options)]


def test_the_columns_are_those_of_the_documentation():
    assert st.schema("events", include_payload=True).names == [
        "source", "source_format", "session_id", "project_hash", "line", "byte_offset", "byte_length", "line_sha256", "seq", "ts", "type",
        "status", "provider", "model", "speaker", "turn", "in_history", "history_index", "text", "text_bytes", "tool_name",
        "tool_call_id", "tool_calls", "is_error", "result_bytes", "severity", "message", "items_removed", "items_compressed", "media_count", "media_bytes",
        "step", "step_key", "prefix_hash", "payload", "date",
    ]  # fmt: skip
    written, schema = st.schema("events"), st.events([]).schema
    assert [written.field(name).type for name in ("ts", "status", "prefix_hash", "date")] == [
        pa.timestamp("us", "UTC"), pa.string(), pa.binary(), pa.date32(),
    ]  # fmt: skip
    assert schema.names == written.names[:-1]
    assert schema.field("ts").type == pa.timestamp("us", "UTC")
    assert pa.types.is_dictionary(schema.field("status").type)
    assert schema.field("prefix_hash").type == pa.binary(16)
    assert schema.metadata[b"schema_version"] == b"3"
    assert schema.metadata[b"session_tape_version"] == st.__version__.encode()


def test_a_row_has_the_position_of_its_bytes():
    content = b"\xef\xbb\xbf" + session(start(), text("human", "ä\n")).replace(b"\n", b"\r\n") + b"\n{\"torn"
    for row in rows(content):
        begin, length = row["byte_offset"], row["byte_length"]
        line = content[begin : begin + length]
        assert row["line_sha256"] == hashlib.sha256(line).digest()
        assert not line.endswith((b"\r", b"\n")) and content[begin + length :][:1] in (b"\r", b"\n", b"")
        if row["status"] == "ok":
            assert json.loads(line)["seq"] == row["seq"]
    assert column(content, "byte_offset")[0] == 3


def test_an_item_has_its_texts_and_calls():
    mixed = "content", {"content": {"speaker": "ai", "blocks": [
        {"type": "text", "text": "one\u2028"}, {"type": "thinking", "text": "no"}, {"type": "tool_call", "id": "a", "name": "run"},
        {"type": "text", "text": "two"}, {"type": "tool_call", "id": "b", "name": "read"},
    ]}}  # fmt: skip
    found = rows(session(start(), text("human", "hi"), mixed, answer("a", error="no", result="öl"), answer("b", name="read")))
    start_row, human, ai, failed, fine = found
    assert (start_row["speaker"], start_row["text"], start_row["tool_calls"]) == (None, None, None)
    assert (human["speaker"], human["text"], human["text_bytes"], human["turn"]) == ("human", "hi", 2, 1)
    assert (ai["text"], ai["text_bytes"]) == ("one\u2028\ntwo", len("one\u2028\ntwo".encode()))
    assert (ai["tool_name"], ai["tool_call_id"], ai["tool_calls"], ai["is_error"]) == ("run", "a", 2, None)
    assert (failed["is_error"], failed["result_bytes"], failed["tool_call_id"]) == (True, 3, "a")
    assert (fine["is_error"], fine["tool_name"], fine["text"], fine["text_bytes"]) == (False, "read", None, 0)


def test_tool_name_and_call_id_are_of_one_block():
    def item(*blocks):
        return "content", {"content": {"speaker": "ai", "blocks": blocks}}

    unnamed, named = {"type": "tool_call", "name": "one"}, {"type": "tool_call", "id": "b", "name": "two"}
    nameless = {"type": "tool_call", "id": "c"}
    found = rows(session(start(), item(unnamed, named), item(nameless, named)))[1:]
    assert [(row["tool_name"], row["tool_call_id"]) for row in found] == [("one", None), (None, "c")]


def test_lines_that_are_no_longer_there_do_not_verify(tmp_path):
    path = tmp_path / "s.jsonl"
    first = session(start())
    path.write_bytes(first + b"\n" + session(text("human", "a")) + b"\nnull\n")
    table = st.events(path).read_all()
    assert st.verify_rows(table).to_pylist() == [True] * 5
    path.write_bytes(first)
    assert st.verify_rows(table).to_pylist() == [True] + [False] * 4


def test_a_text_is_cut_between_characters():
    content = session(start(), text("ai", "aäb"))
    assert column(content, "text", text_limit=2)[1] == "a"
    assert column(content, "text", text_limit=3)[1] == "aä"
    assert column(content, "text_bytes", text_limit=0)[1] == 4


def test_provider_and_model_are_those_in_force():
    switch = lambda **fields: ("provider_switch", fields)  # noqa: E731
    content = session(start(), switch(provider="a", model="m"), text("ai", "x"), switch(provider="b"), switch(model="no"))
    assert column(content, "provider") == ["openai", "a", "a", "b", "b"]
    assert column(content, "model") == ["small", "m", "m", "m", "m"]
    assert column(content, "status") == ["ok", "ok", "ok", "ok", "malformed"]
    assert column(session(switch(provider="a", model="m")), "provider") == [None]


def test_the_final_history_is_that_of_a_replay():
    rewind = lambda count: ("rewind", {"itemsRemoved": count})  # noqa: E731
    summary = "compressed", {"summary": {"speaker": "ai", "blocks": []}, "itemsCompressed": 2}
    content = session(
        start(), text("human", "1"), text("ai", "2"), summary, text("human", "3"), text("ai", "4"), rewind(1.5), rewind(0), text("ai", "5")
    )
    assert column(content, "in_history") == [None, False, False, True, False, False, None, None, True]
    assert column(content, "history_index") == [None, None, None, 0, None, None, None, None, 1]
    assert column(content, "items_removed") == [None] * 6 + [2, 0, None]
    assert column(content, "items_compressed")[3] == 2


def test_references_to_media_are_counted_with_their_bytes():
    def stored(byte):
        digits = hashlib.sha256(byte).hexdigest()
        return {"contentId": f"sha256:{digits}", "mimeType": "image/png", "byteLength": 300, "normalizedBase64Length": 400}

    def reference(original, selected):
        ids = {"originalContentId": original["contentId"], "selectedContentId": selected["contentId"]}
        objects = {"originalObject": original, "selectedObject": selected}
        return {"type": "media", "encoding": "reference", **selected, **ids, **objects}

    one, two = reference(stored(b"1"), stored(b"1")), reference(stored(b"1"), {**stored(b"2"), "byteLength": 3, "normalizedBase64Length": 4})
    shown = "content", {"content": {"speaker": "human", "blocks": [one, two, {**one, "data": "x"}]}}
    content = session(start(), shown, ("note", {"deep": [{"a": two}]}), "garbage", text("ai", '"encoding":"reference"'))
    assert column(content, "media_count") == [0, 2, 1, None, 0]
    assert column(content, "media_bytes") == [0, 303, 3, None, 0]


def test_damaged_lines_are_rows():
    content = session(start(), "", "garbage", "null", '{"type":"new"}', ("content", {}), "5", start()) + b'{"torn'
    assert column(content, "status") == ["ok", None, "unparseable", None, "unknown", "malformed", "unknown", "ok", "torn"]
    assert column(content, "line") == list(range(1, 10))
    assert column(content, "type") == ["session_start", None, None, None, "new", "content", None, "session_start", None]
    assert column(content, "step") == [0, None, None, None, 1, 2, 3, 4, None]
    # A last line that does not parse is torn even if it ends with a newline. A blank line after it shows that it is not.
    assert column(session(start(), "garbage"), "status")[-1] == "torn"
    assert column(session(start(), "garbage", " "), "status") == ["ok", "unparseable", None]


def test_a_last_line_that_does_not_parse_is_torn_whatever_comes_before():
    for first in (start(), start(sessionId=""), text("human", "no start")):
        assert column(session(first, text("human", "a")) + b'{"torn', "status")[-1] == "torn"
        assert column(session(first) + b'{"bad\n\n', "status")[-2:] == ["unparseable", None]
        (summary,) = st.table([("s.jsonl", session(first) + b"{")], "sessions").read_all().to_pylist()
        assert (summary["status_torn"], summary["status_unparseable"]) == (1, 0)


def test_a_provider_that_is_not_a_string_leaves_the_model():
    content = session(start(provider=5, model="large"), text("human", "a"), ("provider_switch", {"provider": "other"}), text("human", "b"))
    assert column(content, "provider") == [None, None, "other", "other"]
    assert column(content, "model") == ["large"] * 4


def test_sessions_that_do_not_replay_have_no_history():
    for first in (text("human", "no start"), start(sessionId="")):
        found = rows(session(first, text("human", "a"), call("1")))
        assert {row["in_history"] for row in found} <= {None, False}
        assert {row["history_index"] for row in found} == {None}


def test_times_that_engines_do_not_have_are_null(tmp_path):
    odd = ["9999-12-31T23:59:59-05:00", "0000-01-01T00:00:00.000Z", "0001-01-01T00:00:00+05:00", "-0001-01-01T00:00:00Z", "+12026-01-01T00:00:00Z"]
    for time in odd:
        content = session(start(startTime=time), text("human", "a")).replace(b'"ts":', b'"at":')
        (summary,) = st.table([("s.jsonl", content)], "sessions").read_all().to_pylist()
        assert summary["started_at"] is None
        st.to_delta([(f"{odd.index(time)}.jsonl", content)], tmp_path, ["sessions"])
    assert {row["date"] for row in rows_in(tmp_path)} == {None}
    content = session(start(startTime="0001-01-01T00:00:00.000Z"), start(startTime="9999-12-31T23:59:59.999Z"))
    (summary,) = st.table([("s.jsonl", content)], "sessions").read_all().to_pylist()
    assert summary["started_at"].year == 1


def test_recordings_without_a_session_start_have_no_steps():
    for content in [session(text("ai", "x")), session(start(sessionId="")), session("", start())]:
        assert set(column(content, "step")) == {None}
    assert column(session(start(sessionId="")), "status") == ["malformed"]


def test_the_payload_is_unchanged():
    line = '{"type":"content", "payload" : {"content": {"speaker":"ai","n":1.0 }} }'
    assert column(session(start(), line), "payload", include_payload=True)[1] == '{"content": {"speaker":"ai","n":1.0 }}'
    assert "payload" not in rows(session(start()))[0]


def test_session_events_have_severity_and_message():
    content = session(start(), ("session_event", {"severity": "warning", "message": "ä"}), ("session_event", {"severity": "no"}))
    assert column(content, "severity") == [None, "warning", None]
    assert column(content, "message") == [None, "ä", None]
    assert column(content, "status")[2] == "malformed"


def test_bytes_that_are_not_utf8_and_deep_values_are_read():
    deep = '{"type":"x","payload":' + "[" * 100_000 + "]" * 100_000 + "}"
    bad = b'{"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"type":"text","text":"a\xff\\ud800"}]}}}\n'
    content = session(start(), deep) + bad
    assert column(content, "status") == ["ok", "unknown", "ok"]
    assert column(content, "text")[2] == "a\ufffd\ufffd"


def large(tmp_path, records):
    path = tmp_path / "large.jsonl"
    path.write_bytes(session(*records))
    assert path.stat().st_size > 8 << 20, "so large that it is read in parts"
    return path


def test_a_large_session_read_in_parts_is_the_same(tmp_path):
    """Compared with the same lines without their padding, which is what makes the session large."""
    records = [start()]
    for at in range(3000):
        records += [text("human", f"{at} "), call(f"c{at % 7}", at=at), answer(f"c{at % 7}", result="x" * 3)]
        if at % 500 == 499:
            records.append(("rewind", {"itemsRemoved": 5}))
        if at == 1200:
            records.append(("compressed", {"summary": {"speaker": "ai", "blocks": []}, "itemsCompressed": 1}))
        if at % 700 == 0:
            records.append(("provider_switch", {"provider": f"p{at}", "model": "m"}))
    padded = [(name, {**payload, "pad": "y" * 900}) for name, payload in records]
    small = st.events([("s", session(*records))]).read_all()
    parts = st.events(large(tmp_path, padded)).read_all()
    for name in ["line", "seq", "ts", "type", "status", "provider", "turn", "in_history", "history_index", "text", "tool_call_id", "step"]:
        assert parts[name].to_pylist() == small[name].to_pylist(), name
    # The keys depend on the padding. For the same records they are the same, read in parts or not.
    again = st.events([("s", session(*padded))]).read_all()
    for name in ["line_sha256", "byte_offset", "step_key", "prefix_hash"]:
        assert parts[name].to_pylist() == again[name].to_pylist(), name
    calls, small_calls = (st.table(one, "tool_calls").read_all() for one in (tmp_path / "large.jsonl", [("s", session(*records))]))
    for name in ["tool_call_id", "called_line", "answered_line", "answers", "turn", "provider"]:
        assert calls[name].to_pylist() == small_calls[name].to_pylist(), name
    assert st.table(tmp_path / "large.jsonl", "sessions").read_all().drop_columns(["source"]).num_rows == 1


@settings(max_examples=60, deadline=None)
@given(any_.lists(any_.binary(max_size=30) | any_.sampled_from([line.encode() for line in lines(start(), text("ai", "x"), call("a"), answer("a"))]), max_size=12))
def test_any_bytes_are_read_as_rows(chunks):
    content = b"\n".join(chunks)
    found = rows(content)
    assert [row["line"] for row in found] == list(range(1, len(found) + 1))
    for row in found:
        assert row["line_sha256"] == hashlib.sha256(content[row["byte_offset"] :][: row["byte_length"]]).digest()
    [whole] = st.table([("s.jsonl", content)], "sessions").read_all().to_pylist()
    assert (whole["lines"], whole["bytes"]) == (len(found), len(content))
    assert whole["file_sha256"] == hashlib.sha256(content).digest()
    counted = sum(whole[f"status_{status}"] for status in ["ok", "malformed", "unknown", "unparseable", "torn"])
    assert counted == sum(row["status"] is not None for row in found)


@pytest.mark.parametrize("batch", [1])
def test_files_are_read_lazily(batch):
    asked = []

    def sessions():
        for number in range(3000):
            asked.append(number)
            yield f"{number}.jsonl", session(start(), text("ai", "x" * 10_000))

    reader = st.events(sessions())
    assert asked == []
    reader.read_next_batch()
    assert 0 < len(asked) < 3000
    reader.close()
