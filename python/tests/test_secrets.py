"""What two independent programs that look for secrets find in an exported bundle: none of those that were put there."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

detect_secrets = pytest.importorskip("detect_secrets")
from detect_secrets.settings import default_settings  # noqa: E402

ROOT = Path(__file__).parents[2]
KINGFISHER = shutil.which("kingfisher", path=str(Path(sys.executable).parent)) or shutil.which("kingfisher")

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not list(ROOT.glob("*.node")),
    reason="the addon of the npm package, which makes bundles, is not built here",
)


def node(*arguments):
    return subprocess.run(["node", *arguments], check=True, capture_output=True, text=True).stdout


def texts_in(value):
    """The texts of a JSON value, and of the JSON in them."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for one in value:
            yield from texts_in(one)
    elif isinstance(value, str):
        yield value
        try:
            inner = json.loads(value)
        except ValueError:
            return
        if isinstance(inner, (dict, list)):
            yield json.dumps(inner, indent=2)
            yield from texts_in(inner)


def laid_out(bundle, folder):
    """A folder with the files of a bundle, and with one in which the texts of all records stand as a user would see them."""
    shutil.copytree(bundle, folder)
    payloads = [json.loads(line)["payload"] for line in (bundle / "session.jsonl").read_text().splitlines()]
    shown = (text for payload in payloads for text in (json.dumps(payload, indent=2), *texts_in(payload)))
    (folder / "texts.txt").write_text("\n\n".join(dict.fromkeys(shown)))
    return folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The values that were put into a session, and the session exported without and with redaction."""
    folder = tmp_path_factory.mktemp("secrets")
    print(node(ROOT / "__test__/support/redaction/write-recording.mjs", folder))
    export = (ROOT / "packages/cli/main.js", "bundle", "export", folder / "session.jsonl")
    node(*export, folder / "open", "--no-redact")
    node(*export, folder / "redacted")
    secrets = json.loads((folder / "secrets.json").read_text())
    return secrets, laid_out(folder / "open", folder / "a"), laid_out(folder / "redacted", folder / "b")


def found_by_kingfisher(folder, cache):
    options = ["--no-validate", "--no-update-check", "--git-history", "none", "--format", "jsonl", "--rule-cache-dir", cache]
    done = subprocess.run([KINGFISHER, "scan", *options, folder], capture_output=True, text=True, env={"HOME": str(cache)})
    # 200: something was found.
    assert done.returncode in (0, 200), done.stderr
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["finding"]["snippet"] for one in findings if "finding" in one}


def found_by_detect_secrets(folder, cache):
    """Judges each line by itself, and takes long for it, so lines that are equal are shown to it once."""
    found = detect_secrets.SecretsCollection()
    lines = cache / "lines.txt"
    with default_settings():
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                lines.write_bytes(b"\n".join(dict.fromkeys(path.read_bytes().split(b"\n"))))
                found.scan_file(str(lines))
    return {secret.secret_value for _, secret in found if secret.secret_value}


def known_among(found, secrets):
    """What was found of the secrets: all of one, a large part of it, or a text around it."""
    everything = "\n".join(secrets)
    return sorted(one for one in found if len(one) >= 8 and (one in everything or any(secret in one for secret in secrets if len(secret) >= 8)))


@pytest.mark.parametrize("judge", [found_by_kingfisher, found_by_detect_secrets])
def test_an_independent_scanner_finds_no_secret_in_an_exported_bundle(exported, tmp_path, judge):
    if judge is found_by_kingfisher and KINGFISHER is None:
        pytest.skip("kingfisher is not installed")
    secrets, without, redacted = exported
    # A judge that finds nothing in the open export would prove nothing.
    seen = known_among(judge(without, tmp_path), secrets)
    print(f"{judge.__name__}: {len(seen)} of {len(secrets)} values found in the open export")
    assert len(seen) >= 100, seen
    assert known_among(judge(redacted, tmp_path), secrets) == []
