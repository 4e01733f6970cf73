"""Builds sessions for tests from records, as lines of JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

#: Recordings of a real agent, if they are available.
REAL = Path(os.environ.get("SESSION_TAPE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "sessions"

START = {
    "sessionId": "s",
    "projectHash": "p",
    "workspaceDirs": ["/repo"],
    "provider": "openai",
    "model": "small",
    "startTime": "2026-02-11T16:00:00.000Z",
}


def start(**fields):
    return "session_start", {**START, **fields}


def text(speaker, *texts, **metadata):
    content = {"speaker": speaker, "blocks": [{"type": "text", "text": one} for one in texts]}
    return "content", {"content": {**content, **({"metadata": metadata} if metadata else {})}}


def call(*ids, name="run", **parameters):
    blocks = [{"type": "tool_call", "id": one, "name": name, "parameters": parameters} for one in ids]
    return "content", {"content": {"speaker": "ai", "blocks": blocks}}


def answer(*ids, name="run", result="done", error=None):
    more = {} if error is None else {"error": error}
    blocks = [{"type": "tool_response", "callId": one, "toolName": name, "result": result, **more} for one in ids]
    return "content", {"content": {"speaker": "tool", "blocks": blocks}}


def lines(*records, second=0):
    """The lines of records. A record is a `(type, payload)` pair, or a string that is a line as it is."""
    made = []
    for at, record in enumerate(records):
        if isinstance(record, str):
            made.append(record)
            continue
        name, payload = record
        ts = f"2026-02-11T16:{(second + at) // 60 % 60:02}:{(second + at) % 60:02}.000Z"
        made.append(json.dumps({"v": 1, "seq": at + 1, "ts": ts, "type": name, "payload": payload}, ensure_ascii=False))
    return made


def session(*records, **options) -> bytes:
    return "".join(line + "\n" for line in lines(*records, **options)).encode()


def talk(number, turns=6, day=11):
    """A session in which tools are called, and fail now and then."""
    records = [start(sessionId=f"session-{number}", startTime=f"2026-02-{day:02}T16:00:00.000Z")]
    for turn in range(turns):
        tool = ("run", "read", "search")[(number + turn) % 3]
        error = "it failed" if (number * turn) % 7 == 3 else None
        records += [
            text("human", f"question {turn} of {number % 5}"),
            call(f"call-{number}-{turn}", name=tool, path=f"/file/{turn}"),
            answer(f"call-{number}-{turn}", name=tool, result={"output": "x" * (turn * 10)}, error=error),
            text("ai", f"answer {turn}\nand more of it: ä {number % 3}"),
        ]
    return session(*records)
