"""First reads in the order of each program."""

import pytest
import torch

from kvtrace.addons.memory import first_reads
from kvtrace.addons.memory.effects import effects_of
from tests.addons.memory import effect_kernels as kernels
from tests.addons.memory.brute_force import assert_bounds, call_of, marked

pytestmark = pytest.mark.usefixtures("free_driver")


@pytest.fixture
def call():
    x, scratch, out = torch.ones(192), torch.zeros(192), torch.zeros(192)
    arguments = {"x": x, "scratch": scratch, "out": out}
    return call_of(kernels.through_scratch, (3,), arguments, {"BLOCK": 64})


def test_what_a_program_stored_is_not_read_first(call):
    _, scratch, _ = effects_of(call).storages

    assert scratch.exact
    assert list(scratch.read_first) == [(63 * 4, 64 * 4), (127 * 4, 128 * 4)]


def test_too_many_elements_leave_bounds_with_the_reason(call, monkeypatch):
    monkeypatch.setattr(first_reads, "MOST_ELEMENTS", 100)

    effects = effects_of(call)

    _, scratch, _ = effects.storages
    assert "too large" in scratch.reason
    assert not scratch.read_first
    assert scratch.may_read.size == 191 * 4
    assert_bounds(effects, marked(call))
