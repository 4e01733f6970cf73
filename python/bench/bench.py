"""What the wheel costs, beside what a data person would write without it. All in one run, in turn; medians. Writes bench/RESULTS.md.

    python bench/bench.py [--rounds N] [--sessions N] [--large BYTES] [--no-spark] [--data FOLDER]

Each measurement is a process of its own, so that memory is its own too. Files are in the system's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
LINES = 50

#: The columns that a plain reader of the same lines has.
PLAIN = ("source", "seq", "ts", "type", "speaker", "text", "tool_name", "tool_call_id")


def line(number: int, at: int) -> str:
    words = "the quick brown fox jumps over the lazy dog, and what it finds there is told in words like these. "
    text = f"{number} {at} " + words[at % 17 :] * (1 + (number + at) % 5)
    if at == 0:
        payload = {"sessionId": f"session-{number}", "projectHash": "p" * 64, "workspaceDirs": ["/repo"], "provider": "openai",
                   "model": "large", "startTime": f"2026-02-{1 + number % 10:02}T10:00:00.000Z"}  # fmt: skip
        return record(at, "session_start", payload)
    if at % 4 == 1:
        return record(at, "content", {"content": {"speaker": "human", "blocks": [{"type": "text", "text": text}]}})
    if at % 4 == 2:
        call = {"type": "tool_call", "id": f"call-{number}-{at}", "name": ("run", "read", "edit")[at % 3], "parameters": {"command": text}}
        return record(at, "content", {"content": {"speaker": "ai", "blocks": [{"type": "text", "text": text}, call]}})
    if at % 4 == 3:
        answer = {"type": "tool_response", "callId": f"call-{number}-{at - 1}", "toolName": ("run", "read", "edit")[(at - 1) % 3],
                  "result": {"output": text * 2}, **({"error": "failed"} if (number + at) % 11 == 0 else {})}  # fmt: skip
        return record(at, "content", {"content": {"speaker": "tool", "blocks": [answer]}})
    usage = {"model": "large", "usage": {"inputTokens": 100 + at, "outputTokens": at}}
    return record(at, "content", {"content": {"speaker": "ai", "blocks": [{"type": "text", "text": text}], "metadata": usage}})


def record(at: int, name: str, payload: dict) -> str:
    ts = f"2026-02-11T10:{at // 60 % 60:02}:{at % 60:02}.000Z"
    return json.dumps({"v": 1, "seq": at + 1, "ts": ts, "type": name, "payload": payload}, separators=(",", ":")) + "\n"


def make_sessions(folder: Path, count: int) -> None:
    if folder.exists():
        return
    for number in range(count):
        path = folder / f"{number // 1000:03}" / f"session-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line(number, at) for at in range(LINES)))


def make_large(path: Path, size: int) -> None:
    if path.exists():
        return
    block = "".join(line(7, at) for at in range(1, 40_001))
    with path.open("w") as file:
        file.write(line(7, 0))
        while file.tell() < size:
            file.write(block)


# What is measured: each gets a folder or a file, and one for its results.


def delta(recordings: str, out: str) -> None:
    import session_tape as st

    st.to_delta(recordings, out, ["events"])


def parquet(recordings: str, out: str) -> None:
    import session_tape as st

    st.to_parquet(recordings, out, ["events"])


def again(recordings: str, _: str) -> None:
    """A repeated export, in which nothing has changed, to what `delta` wrote last."""
    import session_tape as st

    report = st.to_delta(recordings, Path(recordings).parent / "lake", ["events"])
    assert report.sources == 0 and report.unchanged > 0


def duckdb_json(recordings: str, out: str) -> None:
    import duckdb

    duckdb.sql(f"""
        copy (
            select filename as source, seq, ts::timestamp as ts, type, payload->>'$.content.speaker' as speaker,
                array_to_string(payload->>'$.content.blocks[*].text', chr(10)) as text,
                coalesce(payload->>'$.content.blocks[0].name', payload->>'$.content.blocks[1].name', payload->>'$.content.blocks[0].toolName') as tool_name,
                coalesce(payload->>'$.content.blocks[0].id', payload->>'$.content.blocks[1].id', payload->>'$.content.blocks[0].callId') as tool_call_id
            from read_json('{recordings}/**/*.jsonl', format = 'newline_delimited', filename = true,
                columns = {{seq: 'BIGINT', ts: 'VARCHAR', type: 'VARCHAR', payload: 'JSON'}})
        ) to '{out}/events.parquet' (format parquet, compression zstd, compression_level 3)""")


def json_loads(recordings: str, out: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.int64() if name == "seq" else pa.string()) for name in PLAIN])
    with pq.ParquetWriter(f"{out}/events.parquet", schema, compression="zstd", compression_level=3) as writer:
        rows = []
        for path in sorted(Path(recordings).rglob("*.jsonl")):
            with path.open(encoding="utf-8") as file:
                rows += [plain(str(path), json.loads(one)) for one in file]
            if len(rows) >= 16_384:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema))


def plain(source: str, event: dict) -> dict:
    item = event["payload"].get("content", {})
    blocks = item.get("blocks", [])
    tools = [block for block in blocks if block["type"] != "text"]
    first = tools[0] if tools else {}
    return {
        "source": source,
        "seq": event["seq"],
        "ts": event["ts"],
        "type": event["type"],
        "speaker": item.get("speaker"),
        "text": "\n".join(block["text"] for block in blocks if block["type"] == "text") or None,
        "tool_name": first.get("name") or first.get("toolName"),
        "tool_call_id": first.get("id") or first.get("callId"),
    }


def spark_session(out: str):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.local.dir", f"{out}/spark")
    return builder.getOrCreate()


def timed_on_spark(out: str, work) -> None:
    """Only the work: what it takes to start Spark is the same for both."""
    spark = spark_session(out)
    spark.range(1000).mapInArrow(lambda batches: batches, "id long").count()
    begun = time.perf_counter()
    work(spark)
    print(json.dumps({"seconds": time.perf_counter() - begun}))
    spark.stop()


def spark_ours(recordings: str, out: str) -> None:
    import importlib.util

    import pyspark.cloudpickle

    # Its folder is not on the path, since `polars.py` is in it.
    spec = importlib.util.spec_from_file_location("fleet_example", HERE.parent / "examples/spark.py")
    example = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = example
    spec.loader.exec_module(example)
    pyspark.cloudpickle.register_pickle_by_value(example)

    timed_on_spark(out, lambda spark: example.table_of(spark, Path(recordings), "events").write.parquet(f"{out}/events"))


def spark_json(recordings: str, out: str) -> None:
    def work(spark):
        from pyspark.sql import functions as f

        frame = spark.read.option("recursiveFileLookup", "true").json(recordings)
        blocks = f.col("payload.content.blocks")
        block = lambda at: f.get(blocks, f.lit(at))  # noqa: E731
        frame.select(
            f.input_file_name().alias("source"), "seq", f.to_timestamp("ts").alias("ts"), "type", f.col("payload.content.speaker"),
            f.array_join(blocks["text"], "\n").alias("text"), f.coalesce(block(0)["name"], block(1)["name"], block(0)["toolName"]).alias("tool_name"),
            f.coalesce(block(0)["id"], block(1)["id"], block(0)["callId"]).alias("tool_call_id"),
        ).write.parquet(f"{out}/events")  # fmt: skip

    timed_on_spark(out, work)


def query(lake: str, _: str) -> None:
    """Errors by tool and day, once more when the file's metadata are known, as in any session of a data person."""
    import duckdb

    connection = duckdb.connect()
    asked = f"""select date, tool_name, avg(is_error::int) from read_parquet('{lake}/events/*/*.parquet', hive_partitioning = true)
        where is_error is not null group by all"""
    connection.execute(asked).fetchall()
    times = []
    for _round in range(7):
        begun = time.perf_counter()
        assert connection.execute(asked).fetchall()
        times.append(time.perf_counter() - begun)
    print(json.dumps({"seconds": statistics.median(times)}))


MEASURED = {one.__name__: one for one in (delta, parquet, again, duckdb_json, json_loads, spark_ours, spark_json, query)}


def measure(name: str, given: Path, scratch: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processors, and the most MiB that were resident."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    command = [sys.executable, __file__, "--measure", name, str(given), str(scratch)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found["seconds"], found["cpu"], found["mib"]


def measured(name: str, given: str, scratch: str) -> None:
    import contextlib
    import io

    said = io.StringIO()
    if name in ("delta", "again"):
        import deltalake
        import session_tape  # noqa: F401
    elif name == "parquet":
        import pyarrow.parquet
        import session_tape  # noqa: F401
    elif name == "duckdb_json":
        import duckdb  # noqa: F401
    elif name == "json_loads":
        import pyarrow.parquet  # noqa: F401
    begun, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(said):
        MEASURED[name](given, scratch)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    if said.getvalue():
        seconds = json.loads(said.getvalue().strip().splitlines()[-1])["seconds"]
    print(json.dumps({"seconds": seconds, "cpu": cpu, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--large", type=int, default=2 << 30)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    options = parser.parse_args()
    sessions, large = options.data / f"sessions-{options.sessions}", options.data / f"large-{options.large}.jsonl"
    make_sessions(sessions, options.sessions)
    make_large(large, options.large)
    scratch = options.data / "scratch"
    size = sum(path.stat().st_size for path in sessions.rglob("*.jsonl"))
    names = ["delta", "parquet", "again", "duckdb_json", "json_loads"] + ([] if options.no_spark or not shutil.which("java") else ["spark_ours", "spark_json"])
    measure("delta", sessions, options.data / "lake")
    times, cpus = {name: [] for name in names}, {name: [] for name in names}
    for _round in range(options.rounds):
        # Once on Spark: it takes minutes.
        for name in [name for name in names if _round == 0 or not name.startswith("spark")]:
            took, cpu, _ = measure(name, sessions, scratch)
            times[name].append(took)
            cpus[name].append(cpu)
    rounds = {name: [measure(name, large, scratch) for _round in range(options.rounds)] for name in ("delta", "parquet")}
    measure("parquet", sessions, options.data / "files")
    asked = [measure("query", options.data / "files", scratch)[0] for _round in range(options.rounds)]
    seconds = {name: statistics.median(each) for name, each in times.items()}
    processors = {name: statistics.median(each) for name, each in cpus.items() if not name.startswith("spark")}
    report(options, size, seconds, processors, large, rounds, statistics.median(asked))
    shutil.rmtree(scratch, ignore_errors=True)


def report(options, size, seconds, processors, large, rounds, asked) -> None:
    import deltalake
    import duckdb
    import pyarrow

    ratio = lambda rival, own, of=seconds: f"{of[rival] / of[own]:.1f}×" if rival in of else "not measured"  # noqa: E731
    one = lambda rival, own: f"{own.capitalize()} {ratio(rival, own)} ({ratio(rival, own, processors)})"  # noqa: E731
    both = lambda rival: f"{one(rival, 'delta')}, {one(rival, 'parquet')}"  # noqa: E731
    rate = {
        name: f"{name.capitalize()} {large.stat().st_size / 1e6 / statistics.median(took for took, _, _ in found):.0f} MB/s "
        f"({large.stat().st_size / 1e6 / statistics.median(cpu for _, cpu, _ in found):.0f} MB a second of one processor), {max(mib for _, _, mib in found):.0f} MiB"
        for name, found in rounds.items()
    }
    cores = len(os.sched_getaffinity(0))
    events = options.sessions * LINES
    rows = [
        (f"{options.sessions} sessions of {LINES} lines ({size / 1e6:.0f} MB) → `events`, against DuckDB `read_json`", both("duckdb_json"), "≥ 3×"),
        ("the same, against `json.loads` and pyarrow", both("json_loads"), "≥ 4×"),
        ("a repeated export of them to Delta, nothing changed", f"{seconds['again']:.2f} s", "≤ 1 s"),
        ("the same on Spark with two executors, against `spark.read.json`, one round", ratio("spark_json", "spark_ours"), "≥ 3×"),
        (f"one session of {large.stat().st_size / 1e9:.1f} GB", "; ".join(rate.values()), "≥ 300 MB/s on two cores, ≤ 256 MiB and what libraries take"),
        (f"errors by tool and day, Parquet of {events} events, DuckDB", f"{asked * 1000:.0f} ms", "≤ 50 ms"),
    ]
    lines = ["# Benchmarks of the wheel", "", f"Written by `bench.py` on {date.today()}: medians of {options.rounds} rounds, in parentheses by processor time, on {cores} cores", ""]
    lines[-2] += f" ({platform.processor() or platform.machine()}), load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, DuckDB {duckdb.__version__}, deltalake {deltalake.__version__}, pyarrow {pyarrow.__version__}."
    lines += ["| what | measured | target |", "|---|---|---|", *(f"| {what} | {found} | {target} |" for what, found, target in rows), ""]
    (HERE / "RESULTS.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measured(*sys.argv[2:])
    else:
        main()
