"""`python -m session_tape`."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import session_tape as st
from lake import rows
from recordings import talk
from session_tape.__main__ import main
from test_runs import GOLDEN


def test_export_writes_delta_tables(fleet, tmp_path, capsys):
    for expected in ((60, 0), (0, 60)):
        assert main(["export", str(fleet), str(tmp_path), "--table", "sessions", "--storage-option", "timeout=10s"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["sources"], report["unchanged"]) == expected and report["versions"] == {"sessions": 1}
    assert len(rows(tmp_path)) == 60


def test_export_writes_parquet_files(fleet, tmp_path, capsys):
    arguments = ["export", str(fleet), "--parquet", str(tmp_path), "--table", "sessions"]
    assert main(arguments) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 3
    assert main(arguments) == 1
    assert "append" in capsys.readouterr().err
    assert main([*arguments, "--append"]) == 0
    assert len(list(tmp_path.rglob("*.parquet"))) == 6


def test_verify_reports_changed_rows(tmp_path, capsys):
    recording = tmp_path / "s.jsonl"
    recording.write_bytes(talk(1))
    [part] = st.to_parquet(recording, tmp_path / "files", ["events"]).files
    assert main(["verify", str(part)]) == 0
    recording.write_bytes(talk(1).replace(b"answer 0", b"answer 9"))
    assert main(["verify", str(part)]) == 2
    assert "1 of them not as they were recorded" in capsys.readouterr().out


def test_verify_names_a_missing_column(tmp_path, capsys):
    pq.write_table(pa.table({"source": ["a"], "byte_offset": [0]}), tmp_path / "part.parquet")
    assert main(["verify", str(tmp_path / "part.parquet")]) == 1
    assert "table has no column 'byte_length'" in capsys.readouterr().err


def test_first_divergence_prints_the_result(tmp_path, capsys):
    for number in (1, 2):
        (tmp_path / f"{number}.jsonl").write_bytes(talk(number))
    one, other = (str(tmp_path / f"{number}.jsonl") for number in (1, 2))
    assert main(["first-divergence", one, one]) == 0
    assert json.loads(capsys.readouterr().out) is None
    assert main(["first-divergence", one, other]) == 2
    assert json.loads(capsys.readouterr().out)["divergence_event"] == 1


def test_usage_errors_are_messages_without_a_traceback(tmp_path, capsys):
    assert main(["export", str(tmp_path / "missing"), str(tmp_path / "lake")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["export", "--table", "tapes", "a", "b"])
    for arguments, message in [
        (["a"], "at least one PATH and then a URI"),
        (["a", "b", "--append"], "--append adds files"),
        (["a", "b", "--storage-option", "region"], "must be NAME=VALUE"),
    ]:
        assert main(["export", *arguments]) == 1
        assert message in capsys.readouterr().err
    assert main(["first-divergence", str(tmp_path / "a"), str(tmp_path / "b")]) == 1


def test_tables_of_another_kind_are_refused(fleet, tmp_path, capsys):
    for kind, table in [("runs", "events"), ("sessions", "runs")]:
        assert main(["export", "--kind", kind, "--table", table, str(fleet), str(tmp_path / "lake")]) == 1
        assert f"--kind {kind} has no table '{table}'" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
    assert main(["export", "--table", "runs", "--text-limit", str(2**70), str(fleet), str(tmp_path / "lake")]) == 1
    assert "text_limit" in capsys.readouterr().err
    assert main(["export", "--table", "runs", str(GOLDEN), str(tmp_path / "lake")]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == {"runs": 1}


def test_command_line_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "session_tape", "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == st.__version__


def test_the_examples_of_the_docstrings_hold():
    import doctest

    import session_tape.__main__
    import session_tape._errors

    for module in (st, session_tape.__main__, session_tape._errors):
        found = doctest.testmod(module)
        assert found.attempted > 0 and found.failed == 0
