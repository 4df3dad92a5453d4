"""`kvtrace report` checks launches that were kept, where that is quick, and says so."""

import pytest
import torch

import kvtrace
from kvtrace.analysis import missing_passes
from kvtrace.cli import main
from tests.analysis.reported import passes, report
from tests.backends.compiled_kernels import check_kernels


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch):
    """What takes long is no matter of how busy this machine is."""
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 1e6)


@pytest.fixture
def kept(tmp_path):
    """A trace with two launches whose memory was kept."""
    with kvtrace.capture(tmp_path / "out", check="kernel:double"):
        for _ in range(2):
            check_kernels.double[(4,)](torch.ones(1000), 1000, BLOCK=256)
    return tmp_path / "out"


@pytest.mark.costly("a run that is checked afterwards")
def test_recorded_launches_are_checked_once_with_a_note(kept, capsys):
    report(kept)
    assert ": 2 kept launches checked against the IR in " in capsys.readouterr().out
    assert "check" in passes(kept)
    report(kept)
    assert "checked against" not in capsys.readouterr().out


@pytest.mark.costly("a run that is checked afterwards")
@pytest.mark.smoke
def test_check_beyond_the_time_limit_is_skipped_with_the_command_in_a_note(kept, capsys):
    report(kept, "--no-replay")
    assert passes(kept) == set()
    assert main(["sanitize", str(kept)]) == 0
    capsys.readouterr()
    report(kept, "--budget", "0")
    said = capsys.readouterr()
    assert "checking 2 launches takes more than" in said.out + said.err
    assert f"run kvtrace check {kept} to check all launches" in said.out + said.err
    assert "check" not in passes(kept)
