"""Each allocation of a launch fails once: the launch runs, and the failure is told, not raised.

Where the program itself would have got MemoryError, it gets it.
"""

import gc
import itertools

import pytest
import torch

from kvtrace.schema.spool import ROW
from tests.capture.recorders import Adapter, Kernel, _hot

_testcapi = pytest.importorskip("_testcapi")

TENSOR = torch.ones(4)
KERNEL = Kernel()


def grid_of(meta):
    return (4,)


class Field:
    """An argument that Python has to describe."""


def launched(self, *args, grid, warmup, **kwargs):
    if callable(grid):
        grid({})
    return KERNEL


def chosen(self, *args, stream):
    return KERNEL


def compiled(self, grid):
    return lambda *args: KERNEL


class Recorded:
    """A launch of each kind, by a recorder that knows nothing yet."""

    launchers = (KERNEL,)

    def __init__(self, kind):
        self.problems, self.kind = [], kind
        described = (b"described", None)
        self.recorder = _hot.Recorder(
            lambda _: described, self.problems.append, (torch.Tensor, torch.nn.Parameter), 1000
        )
        adapter = Adapter()
        types = {
            "run": self.recorder.wrap(launched, adapter),
            "choose": self.recorder.wrap_choosing(chosen, adapter, chosen),
            "__getitem__": self.recorder.wrap_getitem(compiled, adapter),
            "launchers": self.launchers,
        }
        self.owner = type("Owner", (), types)()

    def launch(self, arguments):
        if self.kind == "choose":
            return self.owner.choose(*arguments, stream=0)
        if self.kind == "compiled":
            return self.owner[(1, 2)](*arguments)
        grid = grid_of if self.kind == "callable" else (1, 2, 3)
        return self.owner.run(*arguments, grid=grid, warmup=False, BLOCK=16)


ARGUMENTS = (TENSOR, 3, 2.5, "text", (1, (2, TENSOR)), [3, TENSOR], Field())


class Unrecorded(Recorded):
    """The same launches without a recorder."""

    def __init__(self, kind):
        self.problems, self.kind, self.recorder = [], kind, None
        types = {"run": launched, "choose": chosen, "__getitem__": compiled}
        self.owner = type("Owner", (), types)()


#: So many launches without a failure say that there are no more allocations to fail.
ENOUGH = 30


@pytest.fixture(autouse=True)
def few_objects():
    """Only what a test makes is collected, so that a collection costs nothing."""
    gc.freeze()
    yield
    gc.unfreeze()


def outcomes(made_by, kind, arguments):
    """Outcomes of launches one of whose allocations fails: each is (raised, rows, told).

    A collection empties CPython's free lists before each. With what earlier launches left there,
    one call of a launcher allocates now two, now three times: its arguments, its keywords' names
    (_PyStack_UnpackDict, Objects/call.c), and from 3.14 on more than 8 arguments once more
    (_PyEval_Vector, Python/ceval.c). Checked with 3.11.7 and 3.14.8.
    """
    found = []
    for behind in itertools.count():
        made = made_by(kind)
        launch = made.launch
        gc.collect()
        _testcapi.set_nomemory(behind, behind + 1)
        try:
            result = launch(arguments)
        except MemoryError:
            result = None
        finally:
            _testcapi.remove_mem_hooks()
        rows = len(made.recorder.drain()) // ROW.size if made.recorder else 1
        told = bool(made.problems) or (made.recorder is not None and made.recorder.dropped > 0)
        assert result in (KERNEL, None)
        found.append((result is None, rows, told))
        if found[-ENOUGH:] == [(False, 1, False)] * ENOUGH:
            return found[:-ENOUGH]
    raise AssertionError


@pytest.mark.parametrize("kind", ["plain", "callable", "choose", "compiled"])
@pytest.mark.parametrize("repeats", [1, 40])
def test_a_launch_runs_whichever_allocation_fails(kind, repeats):
    arguments = ARGUMENTS * repeats
    programs = sum(raised for raised, _, _ in outcomes(Unrecorded, kind, arguments))
    found = outcomes(Recorded, kind, arguments)
    assert len(found) > 10
    # To call the replacement of a callable grid takes a tuple, which Python makes.
    assert sum(raised for raised, _, _ in found) == programs + (kind == "callable")
    assert [n for n, (raised, rows, told) in enumerate(found) if not (raised or rows or told)] == []
