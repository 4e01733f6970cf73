"""A cluster of two executors, one of which is killed while it works."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

import session_tape as st
from recordings import REAL, talk
from test_bundles import FORMS, bundle, pytestmark as with_addon

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None:
    pytest.skip("there is no Java for Spark", allow_module_level=True)



def load_example():
    """Loads the example as a script, whose functions are sent to executors by value. Its folder is not on the path, since it has `polars.py`."""
    spec = importlib.util.spec_from_file_location("fleet_example", Path(__file__).parents[1] / "examples/spark.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    pyspark.cloudpickle.register_pickle_by_value(module)
    return module


example = load_example()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    # As many as give all executors several partitions.
    for number in range(600):
        (folder / f"{number}.jsonl").write_bytes(talk(number, turns=3 + number % 4, day=1 + number % 5))
    for path in REAL.glob("*.jsonl"):
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("session-tape")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("local")),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def undisturbed(session, recordings, tmp_path_factory):
    """The tables of the recordings."""
    lake = tmp_path_factory.mktemp("undisturbed")
    example.export(session, recordings, lake)
    return lake


def executors():
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "."], capture_output=True, text=True).stdout.split()
    listed = []
    while found:
        process = found.pop()
        command = Path(f"/proc/{process}/cmdline")
        if command.exists() and b"CoarseGrainedExecutorBackend" in command.read_bytes():
            listed.append(int(process))
        found += subprocess.run(["pgrep", "-P", process], capture_output=True, text=True).stdout.split()
    return listed


def rows(lake, table):
    order = {"events": "source, line", "tool_calls": "source, called_line, tool_call_id", "sessions": "source"}[table]
    lake = f"read_parquet('{lake}/{table}/*/*.parquet', hive_partitioning=true)"
    return duckdb.sql(f"select * from {lake} order by {order}").to_arrow_table()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="executors are found by /proc")
def test_a_lost_executor_changes_nothing(session, recordings, undisturbed, tmp_path):
    killed = []

    def kill():
        # Once the first tasks have written something, not before they begin.
        while not list((tmp_path / "disturbed").rglob("*.parquet")) and not killed:
            time.sleep(0.01)
        if found := executors():
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    example.export(session, recordings, tmp_path / "disturbed")
    thread.join(timeout=30)
    assert killed, "an executor was killed while the job ran"
    for table in ("events", "tool_calls", "sessions"):
        found, expected = rows(tmp_path / "disturbed", table), rows(undisturbed, table)
        assert expected.num_rows > 0 and found.equals(expected), table


def test_spark_and_duckdb_agree(session, recordings, tmp_path):
    st.to_parquet(recordings, tmp_path)
    for table in ("events", "tool_calls", "sessions"):
        frame = session.read.parquet(str(tmp_path / table))
        assert frame.count() == duckdb.sql(f"select count(*) from '{tmp_path}/{table}/*/*.parquet'").fetchall()[0][0]
    session.read.parquet(str(tmp_path / "events")).createOrReplaceTempView("events")
    query = "select sum(byte_length), count(distinct prefix_hash), sum(cast(is_error as int)) from {}"
    spark = session.sql(query.format("events")).first()
    duck = duckdb.sql(query.format(f"'{tmp_path}/events/*/*.parquet'")).fetchall()[0]
    assert tuple(spark) == tuple(int(value) for value in duck)
    divergence = """select min(a.step) from {0} a join {0} b using (step)
        where a.session_id = 'session-0' and b.session_id = 'session-1' and a.prefix_hash <> b.prefix_hash"""
    assert session.sql(divergence.format("events")).first()[0] == duckdb.sql(divergence.format(f"'{tmp_path}/events/*/*.parquet'")).fetchall()[0][0]


def test_the_example_answers_its_questions(session, undisturbed):
    answers = example.questions(session, undisturbed)
    assert [answer.count() > 0 for answer in answers] == [True, True, True]


@with_addon
def test_the_example_reads_bundles(session, tmp_path):
    recording = tmp_path / "session.jsonl"
    recording.write_bytes(talk(1))
    folder = tmp_path / "bundles"
    folder.mkdir()
    packed = [bundle(recording, folder / form) for form in FORMS]
    rows = example.table_of(session, folder, "events").collect()
    assert {row.source for row in rows} == {str(path) for path in packed}
    assert len(rows) == 2 * len(talk(1).splitlines())
    # A bundle in a directory can be passed as a folder of recordings too.
    assert example.table_of(session, packed[0], "sessions").count() == 1


def test_objects_of_a_store_are_handed_over_as_bytes(session, recordings):
    frame = example.events_of_objects(session, f"{recordings}/1*.jsonl")
    expected = st.events(sorted(recordings.glob("1*.jsonl"))).read_all()
    assert frame.count() == expected.num_rows
    keys = {row.prefix_hash and bytes(row.prefix_hash) for row in frame.select("prefix_hash").collect()}
    assert keys == set(expected["prefix_hash"].to_pylist())
