"""Recordings as tables with Polars: `python examples/polars.py LAKE`."""

import sys
from pathlib import Path

# This file has the name of the package, so its folder must not come first in the path.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).parent.resolve()]

import polars as pl  # noqa: E402

lake = Path(sys.argv[1])
calls = pl.scan_delta(f"{lake}/tool_calls")
events = pl.scan_delta(f"{lake}/events")

print("Which tool fails most, by day?")
rates = calls.filter(pl.col("answers") > 0).group_by("date", "tool_name").agg(pl.len().alias("calls"), pl.col("is_error").mean())
print(rates.sort("is_error", "calls", descending=True).collect())

print("Where do the executions of one task first part?")
ways = events.drop_nulls("step").group_by("step").agg(pl.col("prefix_hash").n_unique().alias("ways"), pl.len().alias("executions"))
print(ways.filter(pl.col("ways") > 1).sort("step").head(1).collect())
