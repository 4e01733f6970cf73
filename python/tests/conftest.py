import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from recordings import REAL, talk  # noqa: E402


@pytest.fixture(scope="session")
def real():
    """The real recordings."""
    found = sorted(REAL.glob("*.jsonl"))
    if not found:
        pytest.skip(f"there are no real recordings in {REAL}")
    return found


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """A folder of sessions of some days."""
    folder = tmp_path_factory.mktemp("fleet")
    for number in range(60):
        path = folder / f"project-{number % 4}" / f"session-{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(talk(number, turns=2 + number % 5, day=10 + number % 3))
    return folder
