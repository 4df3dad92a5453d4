"""Work of the compiled hot path, counted in basic blocks, as launches have more arguments."""

import ctypes
from shutil import which

import pytest
import torch

from tests.capture.recorders import Adapter, Kernel, recorder_of
from tests.support.native_build import compiled_module
from tests.support.tiers import needs

pytestmark = [
    pytest.mark.costly("compiles the hot path"),
    pytest.mark.skipif(which("gcc") is None, reason="gcc counts basic blocks"),
]


@pytest.fixture(scope="module")
@needs("process")
def counted(tmp_path_factory):
    """The hot path whose blocks are counted, and the count."""
    module = compiled_module(
        "kvtrace/capture/_hot.c",
        tmp_path_factory.mktemp("counted"),
        flags=("-fsanitize-coverage=trace-pc",),
        beside="tests/native/blocks.c",
    )
    return module, ctypes.c_ulonglong.in_dll(ctypes.CDLL(module.__file__), "counted_blocks")


def chained(count):
    memory = torch.zeros(8 * count + 64)
    return tuple(memory[8 * i : 8 * i + 12] for i in range(count))


def apart(count):
    memory = torch.zeros(8 * count + 64)
    return tuple(memory[8 * i : 8 * i + 8] for i in range(count))


def backward(count):
    return chained(count)[::-1]


def without_elements(count):
    return tuple(torch.zeros(0) for _ in range(count))


def blocks_of(counted, arguments, places):
    """The number of basic blocks that two launches run, the first of them of a new call."""
    module, blocks = counted
    recorder, adapter, kernel = recorder_of(make=module.Recorder), Adapter(), Kernel()
    recorder.keeps_addresses = places
    pointers = tuple(each.data_ptr() for each in arguments)
    adapter.new_call = lambda *given: recorder.place(pointers) or 0
    before = blocks.value
    for _ in range(2):
        recorder.record(adapter, None, kernel, (1,), arguments, {}, 1, 2)
    return blocks.value - before


@pytest.mark.parametrize("tensors", [chained, apart, backward, without_elements])
@pytest.mark.parametrize("places", [False, True])
def test_work_of_a_launch_grows_with_its_tensors(counted, tensors, places):
    few, more, most = (blocks_of(counted, tensors(count), places) for count in (600, 2400, 9600))

    assert few > 600
    assert more < 6 * few
    assert most < 6 * more
