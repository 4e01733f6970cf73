"""What a build with a profile is trained on: `maturin build --pgo` runs this with an instrumented wheel, and compiles again for what it did.

    python training/train.py

The sessions differ from those of `bench/bench.py`, so that its figures are not those of a program that has seen them.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import session_tape as st

#: A log of a run with everything that its format has.
RUN = Path(__file__).parents[2] / "__test__/fixtures/run/v1/golden"

FILES = 1200
LARGE_RECORDS = 25_000
ROUNDS = 4

WORDS = """add after all and an answer as at be before but by call can change check code could do each error every fail file find first fix for from function
get has have if in is it its key last like line list look make more name need new no not now number of on one only or other out path read result return run same see
set should show so some step table test than that the then there these this time to two type up use value was what when where which will with work would you""".split()
FOREIGN = "naïve Größe größer für geändert où déjà été señal año ключ файл строка 変更 確認 テスト 完了 ✓ → 🚀".split()
CODE = ["    return self.value\n", 'print("done")\n', "if (a < b && c > d) {\n", "\tlet path = C:\\\\temp;\n", "x = {'a': [1, 2.5, null]}\n", "// TODO\r\n", "\u001b[32mok\u001b[0m\n"]
TOOLS = ("run_shell_command", "read_file", "write_file", "edit", "search", "glob", "web_fetch")

Record = tuple[str, dict[str, Any]]


def text(chance: random.Random, words: int) -> str:
    """Half of the texts have no escapes, most are ASCII."""
    of_words, of_code = WORDS + FOREIGN if chance.random() < 0.1 else WORDS, 0.04 if chance.random() < 0.5 else 0
    return " ".join(chance.choice(CODE if chance.random() < of_code else of_words) for _ in range(words))


def length(chance: random.Random) -> int:
    """Mostly short, now and then long."""
    return min(2000, int(chance.lognormvariate(3.2, 1.1)) + 1)


def result(chance: random.Random) -> Any:
    kind = chance.random()
    if kind < 0.4:
        return text(chance, 2 * length(chance))
    if kind < 0.8:
        return {"output": text(chance, length(chance)), "exitCode": chance.choice((0, 0, 0, 1, 127)), "durationMs": chance.random() * 1e4}
    return {"matches": [{"file": f"src/{chance.choice(WORDS)}.ts", "line": chance.randrange(900), "text": text(chance, 6)} for _ in range(chance.randrange(12))], "isTruncated": False}


def usage(chance: random.Random) -> dict[str, Any]:
    used = {"inputTokens": chance.randrange(90_000), "outputTokens": chance.randrange(4000), "cachedTokens": chance.randrange(60_000)}
    return {"model": "large", "usage": used, "timestamp": "2026-03-01T10:00:00.000Z", "id": f"chat-{chance.getrandbits(64):x}"}


def item(speaker: str, blocks: list[dict[str, Any]], metadata: dict[str, Any] | None = None) -> Record:
    return "content", {"content": {"speaker": speaker, "blocks": blocks, **({"metadata": metadata} if metadata else {})}}


def said(chance: random.Random) -> dict[str, Any]:
    return {"type": "text", "text": text(chance, length(chance))}


def turn(chance: random.Random, at: int) -> Iterator[Record]:
    yield item("human", [said(chance)])
    for step in range(chance.randrange(5)):
        ids = [f"call_{at}_{step}_{place}_{chance.getrandbits(32):x}" for place in range(1 + (chance.random() < 0.15))]
        tool = chance.choice(TOOLS)
        calls = [{"type": "tool_call", "id": one, "name": tool, "parameters": {"path": f"/repo/src/{chance.choice(WORDS)}", "text": text(chance, 8)}} for one in ids]
        yield item("ai", [*([said(chance)] if chance.random() < 0.6 else []), *calls], usage(chance) if chance.random() < 0.5 else None)
        failed = {"error": "it failed"} if chance.random() < 0.1 else {}
        yield item("tool", [{"type": "tool_response", "callId": one, "toolName": tool, "result": result(chance), **failed} for one in ids])
    yield item("ai", [{"type": "thinking", "thought": text(chance, 20)}, said(chance)] if chance.random() < 0.2 else [said(chance)], usage(chance))


def records(chance: random.Random, number: int, count: int) -> Iterator[Record]:
    fields = {"sessionId": f"{chance.getrandbits(128):032x}", "projectHash": f"{number % 7:064x}", "workspaceDirs": ["/repo"], "provider": "acme", "model": "large"}
    yield "session_start", {**fields, "startTime": f"2026-03-{1 + number % 12:02}T10:00:00.000Z"}
    made = 1
    while made < count:
        kind = chance.random()
        if kind < 0.9:
            more = list(turn(chance, made))
        elif kind < 0.95:
            more = [("session_event", {"severity": chance.choice(("info", "warning", "error")), "message": text(chance, 9)})]
        elif kind < 0.96:
            more = [("compressed", {"summary": {"speaker": "ai", "blocks": [{"type": "text", "text": text(chance, 80)}]}, "itemsCompressed": made})]
        elif kind < 0.97:
            more = [("rewind", {"itemsRemoved": 2})]
        elif kind < 0.98:
            more = [("provider_switch", {"provider": "other", "model": "small"})]
        elif kind < 0.99:
            more = [("checkpoint_created", {"checkpointId": f"{made}", "name": "before", "itemCount": made})]
        else:
            more = [("of_another_release", {"some": [1, 2, {"thing": None}]})]
        yield from more
        made += len(more)


def session(number: int, count: int) -> str:
    chance = random.Random(number)
    lines = []
    for at, (name, payload) in enumerate(records(chance, number, count)):
        ts = f"2026-03-{1 + number % 12:02}T{10 + at // 3600 % 12}:{at // 60 % 60:02}:{at % 60:02}.{at % 1000:03}Z"
        line = json.dumps({"v": 1, "seq": at + 1, "ts": ts, "type": name, "payload": payload}, ensure_ascii=False, separators=(",", ":"))
        lines.append((line[: len(line) // 2] if chance.random() < 0.0005 else line) + "\n")
    return "".join(lines)


def train(folder: Path) -> None:
    sessions, large = folder / "sessions", folder / "large.jsonl"
    for number in range(FILES):
        path = sessions / f"project-{number % 7}" / f"session-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(session(number, 20 + number % 60), encoding="utf-8", newline="")
    large.write_text(session(FILES, LARGE_RECORDS), encoding="utf-8", newline="")
    # What takes most of the time in use has the most weight.
    for at in range(ROUNDS):
        st.to_parquet([sessions, large], folder / f"lake-{at}")
        st.to_parquet(sessions, folder / f"events-{at}", ["events"])
    st.to_parquet(sessions, folder / "lake-0")
    for name in st.TABLES[:3]:
        st.table([sessions, large], name, include_payload=name == "events").read_all()
    rows = st.events(sessions).read_all()
    st.verify_rows(rows.slice(0, 5000))
    for name in st.TABLES[3:]:
        st.table([RUN], name, verify=True).read_all()
    st.to_parquet([RUN], folder / "runs", st.TABLES[3:], verify=True)
    one, other = (sessions / f"project-{number}" / f"session-{number}.jsonl" for number in (0, 1))
    st.first_divergence(one, other)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        train(Path(scratch))
