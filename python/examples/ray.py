"""Recordings as tables with Ray: `python examples/ray.py RECORDINGS`. Ray distributes the paths; the workers need only the wheel."""

import sys
from pathlib import Path

# This file has the name of the package, so its folder must not come first in the path.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).parent.resolve()]

import ray  # noqa: E402

import session_tape as st  # noqa: E402


def calls_of(batch):
    return st.table([str(path) for path in batch["path"]], "tool_calls").read_all()


paths = [{"path": path} for path in st.recordings(sys.argv[1])]
calls = ray.data.from_items(paths).map_batches(calls_of, batch_size=256)
print(calls.groupby("tool_name").count().to_pandas())
