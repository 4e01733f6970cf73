"""Query engines agree on the content of Delta Lake tables and Parquet files."""

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs
import pytest
from deltalake import DeltaTable

import session_tape as st
from recordings import talk


@pytest.fixture(scope="module", params=["delta", "parquet"])
def lake(fleet, tmp_path_factory, request):
    """A folder of tables, each as `pyarrow`, DuckDB and Polars open it."""
    lake = tmp_path_factory.mktemp(request.param)
    if request.param == "parquet":
        st.to_parquet(fleet, lake)
        return Files(lake)
    st.to_delta(fleet, lake)
    # Rows that were replaced and deleted must not be read.
    st.to_delta(fleet, lake, text_limit=5)
    st.to_delta(fleet, lake)
    st.to_delta([("forgotten.jsonl", talk(1))], lake)
    st.forget(lake, "forgotten.jsonl")
    return Tables(lake)


class Files:
    def __init__(self, folder):
        self.folder = folder

    def arrow(self, table):
        return ds.dataset(self.folder / table, partitioning=ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive"))

    def duck(self, table):
        return f"(from read_parquet('{self.folder}/{table}/*/*.parquet', hive_partitioning=true))"

    def polars(self, table):
        return pl.scan_parquet(f"{self.folder}/{table}/*/*.parquet", hive_partitioning=True)


class Tables:
    def __init__(self, folder):
        self.folder = folder

    def arrow(self, table):
        # Not by the file system of `deltalake`, whose threads call Python while the interpreter may be ending.
        folder = pa.fs.SubTreeFileSystem(str(self.folder / table), pa.fs.LocalFileSystem())
        return DeltaTable(str(self.folder / table)).to_pyarrow_dataset(filesystem=folder)

    def duck(self, table):
        return f"(from delta_{table}_{id(self)})" if duckdb.register(f"delta_{table}_{id(self)}", self.arrow(table)) else ""

    def polars(self, table):
        return pl.scan_delta(str(self.folder / table))


@pytest.mark.parametrize("table", ["events", "tool_calls", "sessions"])
def test_engines_agree_on_counts_and_columns(lake, table):
    arrow = lake.arrow(table).to_table()
    duck = duckdb.sql(f"select * from {lake.duck(table)}")
    polars = lake.polars(table).collect()
    assert arrow.num_rows == len(duck) == polars.height > 0
    assert set(arrow.column_names) == set(duck.columns) == set(polars.columns)
    for column in arrow.column_names:
        nulls = [
            arrow[column].null_count,
            duck.aggregate(f'count(*) - count("{column}")').fetchall()[0][0],
            polars[column].null_count(),
        ]
        assert len(set(nulls)) == 1, (column, nulls)


def test_engines_agree_on_sums(lake):
    arrow = lake.arrow("events").to_table()
    duck = duckdb.sql(f"select sum(byte_length), sum(text_bytes), max(step) from {lake.duck('events')}").fetchall()[0]
    polars = lake.polars("events").select(
        pl.col("byte_length").sum(), pl.col("text_bytes").sum(), pl.col("step").max()
    )
    expected = tuple(pc.sum(arrow[column]).as_py() for column in ("byte_length", "text_bytes")) + (pc.max(arrow["step"]).as_py(),)
    assert duck == polars.collect().row(0) == expected


def test_engines_agree_on_errors_by_tool_and_day(lake):
    duck = duckdb.sql(
        f"""select tool_name, cast(date as varchar) date, count(*) calls, sum(is_error::int) errors
        from {lake.duck('tool_calls')} group by all order by all"""
    ).fetchall()
    polars = (
        lake.polars("tool_calls")
        .group_by(pl.col("tool_name").cast(pl.String), pl.col("date").cast(pl.String))
        .agg(pl.len().alias("calls"), pl.col("is_error").sum().alias("errors"))
        .sort("tool_name", "date")
        .collect()
    )
    assert duck == polars.rows() and sum(errors for *_, errors in duck) > 0


def test_engines_agree_on_the_divergence_query(lake):
    """For some pairs of sessions, in three engines."""
    pairs = [("session-0", "session-3"), ("session-0", "session-1"), ("session-4", "session-19")]
    for left, right in pairs:
        duck = duckdb.sql(
            f"""select min(a.step) from {lake.duck('events')} a join {lake.duck('events')} b using (step)
            where a.session_id = '{left}' and b.session_id = '{right}' and a.prefix_hash <> b.prefix_hash"""
        ).fetchall()[0][0]
        scan = lake.polars("events").select("session_id", "step", "prefix_hash")
        joined = scan.filter(session_id=left).join(scan.filter(session_id=right), on="step")
        polars = joined.filter(pl.col("prefix_hash") != pl.col("prefix_hash_right")).select(pl.col("step").min()).collect().item()
        dataset = lake.arrow("events")
        sides = [
            dataset.to_table(["step", "prefix_hash"], filter=(pc.field("session_id") == one) & pc.field("step").is_valid())
            for one in (left, right)
        ]
        arrow = sides[0].join(sides[1], "step", join_type="inner", right_suffix="_right")
        arrow = pc.min(arrow.filter(pc.field("prefix_hash") != pc.field("prefix_hash_right"))["step"]).as_py()
        assert duck == polars == arrow and duck is not None


def test_a_reader_is_read_by_engines_as_it_is(fleet):
    reader = st.events(fleet)  # noqa: F841
    [(rows,)] = duckdb.sql("select count(*) from reader where status = 'ok'").fetchall()
    assert rows == st.events(fleet).read_all().num_rows
    frame = pl.from_arrow(st.events(fleet).read_all())
    assert frame.height == rows
    assert st.verify_rows(frame.head(10)).to_pylist() == [True] * 10
    assert st.verify_rows(pl.from_arrow(st.events(fleet).read_all()).tail(3)).to_pylist() == [True] * 3
