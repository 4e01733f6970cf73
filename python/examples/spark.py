"""Recordings as tables with Spark: `spark-submit examples/spark.py RECORDINGS LAKE`.

An executor needs only the wheel. Spark distributes paths, or the objects of a store, and writes the rows that the executors return.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

TABLES = ("events", "tool_calls", "sessions")


def columns_of(table: str) -> pa.Schema:
    """The columns of a table in types that Spark accepts. The date is that of the session, and joined later."""
    import session_tape as st

    return pa.schema([field.with_nullable(True) for field in st.schema(table) if field.name != "date"])


def rows_of(table: str, recordings):
    """The work of an executor on its partition: batches of recordings in, batches of rows out."""

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import session_tape as st

        schema = columns_of(table)
        for batch in st.table(recordings(batches), table):
            yield pa.RecordBatch.from_arrays([column.cast(field.type) for column, field in zip(batch.columns, schema)], schema=schema)

    return convert


def paths_in(batches: Iterator[pa.RecordBatch]):
    for batch in batches:
        yield from batch["path"].to_pylist()


def objects_in(batches: Iterator[pa.RecordBatch]):
    for batch in batches:
        yield from zip(batch["path"].to_pylist(), (content.as_buffer().to_pybytes() for content in batch["content"]))


def spark_schema(table: str):
    return from_arrow_schema(columns_of(table))


def table_of(spark: SparkSession, folder: Path, table: str) -> DataFrame:
    """A table of the recordings, including bundles, in a folder that all executors can read."""
    import session_tape as st

    paths = st.recordings(folder)
    partitions = max(1, min(len(paths) // 64, 4 * spark.sparkContext.defaultParallelism))
    frame = spark.createDataFrame([(path,) for path in paths], "path string").repartition(partitions)
    return frame.mapInArrow(rows_of(table, paths_in), spark_schema(table))


def events_of_objects(spark: SparkSession, glob: str) -> DataFrame:
    """The events of the objects of a store (`s3a://bucket/sessions/*.jsonl`), which Spark reads."""
    objects = spark.read.format("binaryFile").load(glob).select("path", "content")
    return objects.mapInArrow(rows_of("events", objects_in), spark_schema("events"))


def export(spark: SparkSession, recordings: Path, lake: Path) -> None:
    """Writes the tables, partitioned by the day on which a session began. Spark commits each of them as a whole."""
    days = table_of(spark, recordings, "sessions").select("source", f.to_date("started_at").alias("date")).cache()
    for table in TABLES:
        dated = table_of(spark, recordings, table).join(f.broadcast(days), "source", "left")
        dated.write.mode("overwrite").partitionBy("date").parquet(f"{lake}/{table}")


QUESTIONS = {
    "Which tool fails most, by day?": """
        select date, tool_name, count(*) as calls, avg(cast(is_error as int)) as error_rate
        from tool_calls where answers > 0 group by date, tool_name order by error_rate desc, calls desc""",
    "Where do the executions of one task first part?": """
        select step, count(distinct prefix_hash) as ways, count(*) as executions
        from events where step is not null group by step having count(distinct prefix_hash) > 1 order by step limit 1""",
    "What does a turn cost in calls, by model?": """
        select model_end as model, sum(tool_calls) / sum(turns) as calls_per_turn, sum(tool_errors) as errors
        from sessions where error is null group by model_end order by model""",
}


def questions(spark: SparkSession, lake: Path) -> list[DataFrame]:
    """The answers to three questions, as data frames."""
    for table in TABLES:
        spark.read.parquet(f"{lake}/{table}").createOrReplaceTempView(table)
    return [spark.sql(query) for query in QUESTIONS.values()]


if __name__ == "__main__":
    session = SparkSession.builder.appName("session-tape").getOrCreate()
    export(session, Path(sys.argv[1]), Path(sys.argv[2]))
    for question, answer in zip(QUESTIONS, questions(session, Path(sys.argv[2]))):
        print(question)
        answer.show()
