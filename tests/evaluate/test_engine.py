"""Batches of programs of launches without data: as many as their addresses leave room for."""

import pytest
import triton
import triton.language as tl

from kvtrace.clients.running import ClientPass
from kvtrace.clients.tracer import Tracer
from kvtrace.evaluate import Observer, evaluate
from tests.verdicts.calls import call, tensor

PROGRAMS, BLOCK = 10_240, 512


@triton.jit
def copied(x, y, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + index, tl.load(x + index))


@triton.jit
def transposed(x, y, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + index, tl.load(x + index // 64 % 20 * 262_144 + index // 1280 * 64 + index % 64))


class Batches(Observer):
    """An observer that counts the programs of each batch of loads."""

    def __init__(self):
        self.programs = []

    def access(self, access):
        if access.kind == "load":
            self.programs.append(access.executions)


def of(kernel):
    size = PROGRAMS * BLOCK
    return call(kernel, (PROGRAMS,), x=tensor(size), y=tensor(size), BLOCK=BLOCK)


@pytest.mark.parametrize(("kernel", "batches"), [(copied, [10_240]), (transposed, [8192, 2048])])
def test_whole_arrays_of_addresses_are_of_fewer_programs_at_once(kernel, batches):
    one, seen = of(kernel), Batches()

    evaluate(one.module, one.arguments, one.grid, observers=(seen,))

    assert seen.programs == batches


def test_rows_do_not_depend_on_the_batches(monkeypatch):
    def rows():
        tracer = Tracer()
        assert ClientPass([tracer]).run(of(transposed)) is None
        return tracer.results[1].rows

    in_two = rows()
    monkeypatch.setattr("kvtrace.evaluate.engine.DIVIDED_ADDRESSES", 64)
    assert rows() == in_two
