"""`kvtrace join` as it is typed: what it prints, and one sentence where it cannot join."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.support.tree import ROOT

EAGER = ROOT / "tests" / "fixtures" / "profiled" / "eager"
PROFILE = EAGER / "rank0.pt.trace.json.gz"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording that is joined in the test."""
    return shutil.copytree(EAGER / "kvtrace", tmp_path / "out")


def state(folder: Path) -> dict[str, str]:
    """Return all files and what they hold."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_join_prints_counts_and_profile_shows_the_times(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["join", str(recording), "--times", str(PROFILE)]) == 0
    assert "114 of 114 executions of recorded kernels joined (100.0%: 114 exact)" in (
        capsys.readouterr().out
    )
    assert main(["profile", str(recording), "--json", "--whole"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)
    assert "_rms_norm_backward_kernel" in text
    assert main(["info", str(recording)]) == 0
    assert "passes" in (out := capsys.readouterr().out)
    assert "join" in out


def test_dry_run_writes_nothing_and_prints_the_same_counts_as_json(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(recording)
    words = ["join", str(recording), "--times", str(PROFILE), "--dry-run", "--json"]
    assert main(words) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["counts"]["exact"] == 114
    assert (found["means"], found["same_process"], found["written"]) == ("time", True, False)
    assert state(recording) == before


@pytest.mark.parametrize("damage", ["missing", "not-json", "cut", "empty", "no-times"])
def test_invalid_times_are_a_one_sentence_error_and_change_nothing(
    recording: Path, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    times = tmp_path / "rank0.pt.trace.json"
    whole = gzip.decompress(PROFILE.read_bytes())
    content = {
        "not-json": b"%PDF-1.7",
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "no-times": b'{"schemaVersion": 1, "traceEvents": []}',
    }
    if damage in content:
        times.write_bytes(content[damage])
    before = state(recording)
    assert main(["join", str(recording), "--times", str(times)]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert state(recording) == before
