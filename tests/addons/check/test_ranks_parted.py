"""Ranks of a job that part, by digests: a reduction that one of them lost, and none."""

import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from kvtrace.addons.check.checked_runs import check_runs, check_text
from kvtrace.addons.check.ranks_parted import ranks_parted
from kvtrace.cli import main
from kvtrace.schema.trace import resolve
from tests.gpu.check_parted import PLANTS, recorded


@pytest.mark.process
@pytest.mark.costly("records two processes with torch.distributed")
def test_ranks_part_where_one_of_them_lost_the_reduction(tmp_path, capsys):
    plant = PLANTS["all-reduce"]
    out = recorded(tmp_path / "out", plant.twins[0], "cpu", plant.ranks)

    assert main(["check", str(out)]) == 1
    line = capsys.readouterr().out.splitlines()[-1]
    assert re.search(plant.origin, line), line


@pytest.mark.process
@pytest.mark.costly("records two processes with torch.distributed")
def test_ranks_that_stay_equal_are_said_to_be(tmp_path):
    selection = resolve(str(recorded(tmp_path / "out", (), "cpu", ranks=2)))
    checked = check_runs(selection)

    assert not checked.failed
    # At each of four steps g before a launch; w, carry and m before and after it; batches differ.
    assert list(check_text(checked))[-1] == (
        "ranks 0, 1: all 24 results that were equal at the start stayed equal"
    )
    twice = [*selection.runs, *selection.runs]  # a rank that was started again has its number
    assert ranks_parted(selection.trace, twice) == checked.ranks
