"""`kvtrace import --into` as it is typed: what it prints, and one sentence where it cannot join."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
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


@pytest.mark.costly("imports and profiles; another of the file stays by day")
def test_join_prints_counts_and_profile_shows_the_times(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(PROFILE), "--into", str(recording)]) == 0
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
    words = ["import", "kineto", str(PROFILE), "--into", str(recording), "--dry-run", "--json"]
    assert main(words) == 0
    (found,) = json.loads(capsys.readouterr().out)["runs"]
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
    assert main(["import", str(times), "--into", str(recording)]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert state(recording) == before


def test_a_folder_of_files_gives_times_to_a_named_run(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    shutil.copy(PROFILE, tmp_path / "files")
    (run,) = (run.run_id for run in open_trace(recording).runs)
    assert main(["import", str(tmp_path / "files"), "--into", f"{recording}/{run}"]) == 0
    assert "114 of 114 executions of recorded kernels joined" in capsys.readouterr().out


def test_the_old_word_joins_too_and_names_the_new_one(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["join", str(recording), "--times", str(PROFILE), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "114 of 114 executions" in said.out
    assert "kvtrace join is now kvtrace import FILES --into TRACE; " in said.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--into", "TRACE", "-o", "other"], "--into and -o cannot be combined"),
        (["--dry-run"], "need --into TRACE"),
        (["--into", "none"], "none"),
        (["--into", "FILE"], "rank0"),
    ],
)
def test_options_that_make_no_sense_are_a_one_sentence_error(
    recording: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"TRACE": str(recording), "FILE": str(PROFILE)}
    before = state(recording)
    assert main(["import", str(PROFILE), *(places.get(word, word) for word in options)]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert state(recording) == before
