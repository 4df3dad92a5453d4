"""First reads in the order of each program."""

import pytest
import torch

from kvtrace.addons.memory import first_reads
from kvtrace.addons.memory.effects import effects_of
from kvtrace.addons.memory.first_reads import may_precede, others_may_store
from kvtrace.verdicts.binding import BoundCall
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

    assert not scratch.reason
    assert list(scratch.reads) == [(63 * 4, 64 * 4), (127 * 4, 128 * 4)]


def test_too_many_elements_leave_bounds_with_the_reason(call, monkeypatch):
    monkeypatch.setattr(first_reads, "MOST_ELEMENTS", 100)

    effects = effects_of(call)

    _, scratch, _ = effects.storages
    assert "too large" in scratch.reason
    assert not scratch.reads
    assert scratch.may_read.size == 191 * 4
    assert_bounds(effects, marked(call))


@pytest.mark.parametrize(
    ("kernel", "n", "is_preceded"),
    [
        (kernels.scaled_in_place, {"n": 100, "COUNT": 2}, False),
        (kernels.shifted_in_loop, {"COUNT": 4}, True),
        (kernels.divided_in_place, {"n": 256, "INNER": 64, "COUNT": 4}, True),
    ],
)
def test_formulas_tell_the_stores_of_earlier_trips_that_reach_a_read(kernel, n, is_preceded):
    constants = {name: value for name, value in n.items() if name.isupper()} | {"BLOCK": 64}
    arguments = {"x": torch.ones(1024)} | {k: v for k, v in n.items() if not k.isupper()}
    bound = BoundCall(call_of(kernel, (2,), arguments, constants))
    read, store = bound.summary.accesses

    assert may_precede(bound, store, read, listed_first=False) == is_preceded
    assert may_precede(bound, read, read, listed_first=True)


def test_other_programs_store_what_a_program_reads_first(call):
    assert others_may_store(call, (1,))
    assert not others_may_store(call, (0,))


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [(kernels.accumulated, {}), (kernels.shifted_in_loop, {"COUNT": 4}), (kernels.added, {})],
    ids=["updates", "rows of their own", "atomic updates"],
)
def test_what_programs_read_before_they_store_it_was_there_before(kernel, constants):
    tensors = {name: torch.ones(1024) for name in kernel.arg_names if name in ("x", "total")}
    call = call_of(kernel, (3,), tensors, constants | {"BLOCK": 64})

    assert not others_may_store(call, (len(tensors) - 1,))
