import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from recordings import REAL, talk  # noqa: E402

# No test asserts a time: on a busy machine an example may take as long as it likes.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def real():
    """The real recordings."""
    found = sorted(REAL.glob("*.jsonl"))
    if not found:
        pytest.skip(f"there are no real recordings in {REAL}")
    return found


@pytest.fixture
def closed():
    """A folder, and a context manager that makes a path in it inaccessible. Root becomes another user meanwhile, since nothing is denied to it."""
    if os.name != "posix":
        pytest.skip("permissions are those of POSIX")

    @contextmanager
    def forbidden(path):
        path.chmod(0)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if is_root:
                os.seteuid(0)
            path.chmod(0o755)

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder, forbidden
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """A folder of sessions of several days."""
    folder = tmp_path_factory.mktemp("fleet")
    for number in range(60):
        path = folder / f"project-{number % 4}" / f"session-{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(talk(number, turns=2 + number % 5, day=10 + number % 3))
    return folder
