"""Sessions of other programs: the fixtures of the core, and builders of such files."""

from __future__ import annotations

import json
from pathlib import Path

AGENTS = Path(__file__).parents[2] / "crates/core/tests/agents"

#: What an independent converter reads in each fixture.
EXPECTED = {name: conversations[0] for name, conversations in json.loads((AGENTS / "expected.json").read_text()).items()}


def fixture(name) -> Path:
    return AGENTS / name


def jsonl(*records) -> bytes:
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records).encode()


def claude(kind, uuid, parent, content, second=0, **more):
    """A record of Claude Code."""
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message = {"id": f"msg-{uuid}", "model": "claude-test", **message}
    time = f"2026-03-0{1 + second // 3600}T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s-claude", "cwd": "/w", "timestamp": time, "message": message, **more}


def tool_use(one):
    return {"type": "tool_use", "id": one, "name": "Bash", "input": {"command": one}}


def tool_result(one, **more):
    return {"type": "tool_result", "tool_use_id": one, "content": f"output of {one}", **more}


def dialogue(turns, session="s-claude"):
    """A linear session of Claude Code: in each turn a prompt, a call, its result and an answer."""
    records, parent = [], None
    for turn in range(turns):
        for kind, uuid, content in (
            ("user", f"u{turn}", f"question {turn}"),
            ("assistant", f"c{turn}", [tool_use(f"call-{turn}")]),
            ("user", f"r{turn}", [tool_result(f"call-{turn}")]),
            ("assistant", f"a{turn}", [{"type": "text", "text": f"answer {turn}"}]),
        ):
            records.append({**claude(kind, uuid, parent, content, len(records)), "sessionId": session})
            parent = uuid
    return jsonl(*records)


def storage(*sessions) -> bytes:
    """Files of the storage of OpenCode, one after the other: of these sessions, each with a prompt and an answer."""
    values = []
    for number, session in enumerate(sessions):
        created = 1_767_312_000_000 + 86_400_000 * number
        values.append({"id": session, "directory": "/w", "title": f"title of {session}", "time": {"created": created}})
        for at, (role, text) in enumerate((("user", f"question of {session}"), ("assistant", f"answer of {session}"))):
            message = f"msg_{session}_{at}"
            model = {"modelID": "open", "providerID": "code"} if role == "assistant" else {}
            values.append({"id": message, "sessionID": session, "role": role, "time": {"created": created + at + 1}, **model})
            values.append({"id": f"prt_{message}", "sessionID": session, "messageID": message, "type": "text", "text": text})
    return "\n".join(json.dumps(value, indent=1) for value in values).encode()
