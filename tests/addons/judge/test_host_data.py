"""Results that are made of integers of the host, which kernels get as inputs."""

import pytest
import triton
import triton.language as tl

from kvtrace.addons.judge.host_data import HostData, host_made_storages, places_are_loaded
from kvtrace.ir.parser import parse
from tests.support.compile_ttir import compile_generic

#: Storages: floats of the inputs, integers of the host, a table of the host, the result.
FLOATS, INTEGERS, TABLE, RESULT = 0, 1000, 1001, 1002


@triton.jit
def look_up(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(table + tl.load(at + i)))


@triton.jit
def scaled(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i) * tl.load(table + tl.load(at + i)))


@triton.jit
def gathered(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.load(at + i)) * 2.0)


@triton.jit
def scattered(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + tl.load(at + i), tl.load(x + i))


@triton.jit
def ones_scattered(x, at, table, out):
    tl.store(out + tl.load(at + tl.arange(0, 16)), 1.0)


@triton.jit
def zeros_scattered(x, at, table, out):
    tl.store(out + tl.load(at + tl.arange(0, 16)), 0.0)


@triton.jit
def compared(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, (tl.load(at + i) > 3).to(tl.float32))


@triton.jit
def chosen_of_constants(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.where(tl.load(at + i) > 3, 1.0, 2.0))


@triton.jit
def masked(x, at, table, out):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.where(i < tl.load(at + i), tl.load(x + i), -float("inf")))


@triton.jit
def counted_in_a_loop(x, at, table, out):
    total = 0.0
    for _ in range(tl.load(at)):
        total += 1.0
    tl.store(out, total)


@triton.jit
def summed_in_a_loop(x, at, table, out):
    total = 0.0
    for step in range(tl.load(at)):
        total += tl.load(x + step)
    tl.store(out, total)


@triton.jit
def counted_by_programs(x, at, table, out):
    tl.atomic_add(out, 1.0)


NUMBERS = (FLOATS, INTEGERS, TABLE, RESULT)
LAUNCH = {
    "launch": "kernel", "ttir": "module", "contents": {str(INTEGERS): {}, str(TABLE): {}},
    "arguments": [{"name": str(each), "storage": each} for each in NUMBERS],
}  # fmt: skip


def made(kernel, host):
    pointers = {"x": "*fp32", "at": "*i32", "table": "*fp32", "out": "*fp32"}
    modules = {"module": parse(compile_generic(kernel, pointers))}
    return host_made_storages(host, [LAUNCH], modules, {FLOATS})


OF_THE_HOST = [HostData(0, "the contents of at", storage=INTEGERS)]


@pytest.mark.parametrize(
    "kernel",
    [look_up, scaled, ones_scattered, compared, chosen_of_constants, counted_in_a_loop],
    ids=lambda kernel: kernel.__name__,
)
def test_host_integers_that_select_constants_taint_results(kernel):
    assert RESULT in made(kernel, OF_THE_HOST)


@pytest.mark.parametrize(
    "kernel",
    [gathered, scattered, zeros_scattered, masked, summed_in_a_loop],
    ids=lambda kernel: kernel.__name__,
)
def test_host_integers_that_select_input_floats_do_not_taint_results(kernel):
    assert RESULT not in made(kernel, OF_THE_HOST)


def test_grid_of_programs_that_add_a_constant_taints_the_result():
    grid = [HostData(0, "the grid of kernel", places=True)]
    assert RESULT in made(counted_by_programs, grid)
    assert RESULT not in made(gathered, grid)


def test_move_that_looks_up_constants_taints_its_target():
    picked = [HostData(0, "which elements PyTorch moves", places=True)]
    step = {"moved": {"storage": RESULT}, "sources": [{"storage": TABLE}], "contents": {"1001": {}}}
    assert RESULT in host_made_storages(picked, [step], {}, {FLOATS})
    assert RESULT not in host_made_storages(
        picked, [{**step, "sources": [{"storage": FLOATS}]}], {}, {FLOATS}
    )


@pytest.mark.parametrize(
    ("kernel", "answer"),
    [
        (look_up, True), (gathered, True), (scattered, True), (ones_scattered, True),
        (compared, False), (chosen_of_constants, False),
    ],
)  # fmt: skip
def test_kernels_whose_loads_decide_addresses_are_detected(kernel, answer):
    pointers = {"x": "*fp32", "at": "*i32", "table": "*fp32", "out": "*fp32"}
    assert places_are_loaded(parse(compile_generic(kernel, pointers))) == answer
