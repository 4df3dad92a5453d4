"""The hook of the caching allocators, called as torch's C++ code calls it; without a GPU."""

import ctypes
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kvtrace.addons.memory.recording import _operators as native
from kvtrace.addons.memory.recording.following import function_places
from kvtrace.addons.memory.recording.layouts import TorchUnknown, install
from tests.addons.memory.recording.allocator_hook import Allocator

HEADER = "include/c10/core/impl/PyInterpreter.h"


def taken(everything=False):
    """Rows of allocations: address, bytes, begin, end, thread, stack, device."""
    columns = [array("q", column).tolist() for column in native.take(everything)[3]]
    return list(zip(*columns, strict=True))


@pytest.fixture
def allocator():
    native.forget()
    hooked = Allocator(native)
    assert hooked.install()
    native.record_calls(True)
    yield hooked
    native.record_calls(False)
    hooked.uninstall()
    native.forget()


def test_an_allocation_is_a_row_when_it_is_freed(allocator):
    allocator.allocate(0x1000)
    allocator.allocate(0x2000)
    assert taken() == []

    allocator.free(0x1000)
    ((address, size, begin, end, _, stack, device),) = taken()
    assert (address, size, stack, device) == (0x1000, -1, 0, 3)
    assert 0 < begin <= end
    ((address, _, _, end, *_),) = taken(everything=True)
    assert (address, end) == (0x2000, -1)
    assert taken(everything=True) == []


def test_memory_that_is_given_again_ended_before(allocator):
    allocator.allocate(0x1000)
    allocator.allocate(0x1000)

    first, second = taken(), taken(everything=True)
    assert [row[3] for row in first] == [second[0][2]]


def test_frees_of_unknown_memory_and_other_events_are_nothing(allocator):
    allocator.free(0x3000)
    for place in range(2, 40):
        if place not in (allocator.allocated, allocator.freed):
            allocator.call(place, 0x4000)
    allocator.allocate(0)

    assert taken(everything=True) == []


def test_many_allocations_are_kept_apart_in_any_order_of_frees(allocator):
    addresses = [512 * n for n in range(1, 20_001)]
    for address in addresses:
        allocator.allocate(address)
    for address in addresses[::3]:
        allocator.free(address)
    assert [row[0] for row in taken()] == addresses[::3]
    for address in addresses[::3]:
        allocator.allocate(address)
    for address in reversed(addresses):
        allocator.free(address)

    assert [row[0] for row in taken()] == addresses[::-1]
    assert taken(everything=True) == []


def test_what_an_operator_frees_ends_when_it_returns_and_what_it_makes_has_a_size(allocator):
    installed = install(native, torch)
    library = torch.library.Library("aten", "FRAGMENT")
    library.define("memory_of_a_test(Tensor x) -> Tensor")
    value = torch.zeros(4)
    result = torch.zeros(25)

    def freeing(x):
        allocator.allocate(result.data_ptr())
        allocator.free(value.data_ptr())
        return result

    library.impl("memory_of_a_test", freeing, "CompositeExplicitAutograd")
    try:
        allocator.allocate(value.data_ptr())
        native.take(False)
        torch.ops.aten.memory_of_a_test(value)
        _, _, operations, allocations, *_ = native.take(False)
        (made,) = taken(everything=True)
    finally:
        library._destroy()
        installed.remove(installed.handle)
    assert array("q", allocations[0]).tolist() == [value.data_ptr()]
    assert array("q", allocations[3]).tolist() == array("q", operations[2]).tolist()
    assert made[:2] == (result.data_ptr(), 100)


def test_the_hook_of_something_else_is_left_alone(allocator):
    assert not allocator.install()
    interpreter = ctypes.c_uint64.from_address(allocator.state)
    before, interpreter.value = interpreter.value, 42
    try:
        assert not allocator.uninstall()
        assert ctypes.c_char.from_address(allocator.flag).value == b"\1"
    finally:
        interpreter.value = before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trace_gpu_memory_deallocation", "trace_gpu_free", "another hook"),
        ("uintptr_t ptr) const", "uintptr_t ptr, size_t bytes) const", "another hook"),
        ("struct C10_API PyInterpreter {", "struct C10_API PyInterpreter : Base {", "another hook"),
        ("", "", "cannot be read"),
    ],
)
def test_another_header_is_refused(tmp_path, old, new, message):
    text = (Path(torch.__file__).parent / HEADER).read_text()
    if old:
        (tmp_path / HEADER).parent.mkdir(parents=True)
        (tmp_path / HEADER).write_text(text.replace(old, new))
    other = SimpleNamespace(__file__=str(tmp_path / "__init__.py"), __version__="9")

    with pytest.raises(TorchUnknown, match=message):
        function_places(other)
