"""Exported problems are read as KernelBench's local data set reads them, and have its functions."""

import re

import pytest
import torch

from kvtrace.addons.suite.exports import export_suite


@pytest.fixture
def problems(training, tmp_path):
    done = export_suite(training, "kernelbench", tmp_path / "out")
    assert not done.notes
    return tmp_path / "out" / "level5"


def run(problem):
    """What KernelBench does: the source is executed in an empty namespace."""
    names = {}
    exec(problem.read_text(), names)
    return names


def test_problems_are_numbered_from_one(problems):
    numbers = sorted(int(re.match(r"(\d+)_", file.name)[1]) for file in problems.iterdir())
    assert numbers == list(range(1, 22))


def test_inputs_are_floats_and_differ_by_seed(problems):
    names = run(next(problems.glob("1_*")))
    assert names["get_init_inputs"]() == []
    torch.manual_seed(1)
    first, again = names["get_inputs"](), names["get_inputs"]()
    assert [tuple(value.shape) for value in first] == [(198, 60), (60,), (60,)]
    assert not torch.equal(first[0], again[0])
    torch.manual_seed(1)
    assert torch.equal(names["get_inputs"]()[0], first[0])


def test_integers_are_buffers_which_keep_their_type(problems):
    names = run(next(problems.glob("*_cross_entropy_forward.py")))
    model = names["Model"]().to(dtype=torch.float64)
    assert model.target.dtype == torch.int64
    assert [tuple(value.shape) for value in names["get_inputs"]()] == [(198, 33)]


def test_inputs_that_lose_bits_are_named(changed, tmp_path):
    folder = changed(("'float32'", "'float64'"), ("Storage(47520", "Storage(95040"))
    notes = export_suite(folder, "kernelbench", tmp_path / "out").notes
    assert notes[0].startswith("001-layer_norm_forward: float64 inputs lose bits")
