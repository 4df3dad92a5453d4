"""Which op made the first NaN or infinity: captured on the CPU, and read from the trace alone."""

import inspect
import math

import pytest
import torch
import triton

import kvtrace
from kvtrace.addons.check.first_bad import first_bad, origin_text
from kvtrace.addons.check.kept import checked_launches
from kvtrace.ir import source_stack
from kvtrace.schema.trace import open_trace
from tests.addons.check import bad_kernels as kernels
from tests.backends.compiled_kernels.output_kernels import inverted

INF = math.inf


def launched(kernel, *tensors, block=256):
    n = tensors[0].numel()
    kernel[(triton.cdiv(n, block),)](*tensors, n, BLOCK=block)


def numbers(count=1000, **at):
    """Twos, with others at some places."""
    x = torch.full((count,), 2.0)
    for place, number in at.items():
        x[int(place[1:])] = number
    return x


def bad(out):
    trace = open_trace(out)
    (run,) = trace.runs
    return [(launch, first_bad(launch)) for launch in checked_launches(trace, run)]


def line_of(value):
    return source_stack(value.op)[0].line


def marked_line(kernel):
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(n for n, line in enumerate(lines) if "# bad" in line)


SOURCES = {
    "log_of_zero": (numbers(_300=0.0), "math.log", 1, 44, -INF, [0.0]),
    "zero_by_zero": (numbers(_999=0.0), "arith.divf", 3, 231, math.nan, [0.0, 0.0]),
    "overflow": (numbers(_513=-40000.0), "arith.truncf", 2, 1, -INF, [-80000.0]),
    "root_of_less": (numbers(_5=-4.0), "math.sqrt", 0, 5, math.nan, [-4.0]),
    "large_power": (numbers(_256=100.0), None, 1, 0, INF, None),
    "no_variance": (numbers(_700=-0.0), "arith.divf", 2, 188, -INF, [1.0, 0.0]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_bad_value_has_op_line_program_lane_and_operands(tmp_path, name):
    kernel = getattr(kernels, name)
    x, op, program, lane, number, operands = SOURCES[name]
    out = torch.zeros(1000, dtype=torch.float16 if name == "overflow" else torch.float32)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernel, numbers(), out)
        launched(kernel, x, out)
        launched(kernel, x, out)

    ((launch, first),) = bad(tmp_path)
    assert (launch.seq, launch.kernel) == (1, name)
    assert (first.program, first.lane) == (program, (lane,))
    assert first.number == number or (math.isnan(first.number) and math.isnan(number))
    assert line_of(first) == marked_line(kernel)
    assert (first.from_masked, first.programs) == (False, 1)
    if op is not None:
        assert first.op.name == op
        assert [held for _, values in first.operands for held in values] == operands
    assert f"{kernels.__file__}:{line_of(first)}" in origin_text(first, launch.call().grid)


def test_nan_of_a_row_of_minus_infinities_is_located_at_the_subtraction(tmp_path):
    x = numbers(512)
    x[256:] = -INF
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.inf_minus_inf, x, torch.zeros(512))
    ((_, first),) = bad(tmp_path)
    assert (first.op.name, first.program, first.lane) == ("arith.subf", 1, (0,))
    assert line_of(first) == marked_line(kernels.inf_minus_inf)
    assert [values for _, values in first.operands] == [(-INF,), (-INF,)]


def test_nan_from_masked_lanes_that_reaches_a_sum_is_marked(tmp_path):
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.padding_leaks, numbers(200), torch.zeros(1))
    ((launch, first),) = bad(tmp_path)
    assert (first.op.name, first.lane, first.number) == ("arith.divf", (200,), INF)
    assert first.from_masked
    assert line_of(first) == marked_line(kernels.padding_leaks)
    text = origin_text(first, launch.call().grid)
    assert "from lanes that masked loads leave out; the value reaches memory" in text


def test_nan_in_padding_that_is_never_stored_is_left_out(tmp_path):
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.padding_stays, numbers(200, _7=1.0) + 1, torch.zeros(200))
    ((_, first),) = bad(tmp_path)
    assert (first.op.name, first.lane) == ("math.log", (7,))
    assert (first.from_masked, first.operands[0][1]) == (False, (0.0,))


def test_nan_of_a_dot_product_is_reported_with_the_largest_summands(tmp_path):
    x = torch.full((256,), 1.0)
    x[3 * 16 + 4] = 3e38
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.large_product, x, torch.zeros(256))
    ((_, first),) = bad(tmp_path)
    assert (first.op.name, first.lane, first.number) == ("tt.dot", (3, 4), INF)
    operands = dict(first.operands)
    large = float(torch.tensor(3e38))
    assert operands["left"] == (1.0, 1.0, 1.0, large)  # three of 15 ones, in their order
    assert operands["right"] == (1.0, 1.0, 1.0, large)


def test_reason_names_the_tensors_that_were_not_recorded(tmp_path):
    with kvtrace.capture(tmp_path, check="finite"):
        x = numbers((1 << 18) + 1, _3=0.0)
        inverted[(triton.cdiv(x.numel(), 1024),)](x, x.numel(), BLOCK=1024)
    ((_, reason),) = bad(tmp_path)
    assert reason == "the evaluation lacks the contents of x, which were not recorded"


def test_nan_in_memory_before_the_launch_has_no_origin(tmp_path):
    out = torch.full((1000,), math.nan)
    with kvtrace.capture(tmp_path, check="finite"):
        launched(kernels.log_of_zero, numbers(500), out)
    ((_, reason),) = bad(tmp_path)
    assert "memory around its stores was not finite before" in reason


def test_first_nan_in_a_programs_thirtieth_launch_is_located(tmp_path):
    weights, out = numbers(), torch.zeros(1000)
    with kvtrace.capture(tmp_path, check="finite"):
        for step in range(40):
            weights[step] = 30.0 - step
            launched(kernels.log_of_zero, weights, out)
            launched(kernels.large_power, out.clamp(max=1.0), out)
    (launch, infinity), (nan_launch, nan) = bad(
        tmp_path
    )  # step 30 takes the logarithm of 0, step 31 that of -1
    assert (launch.seq, infinity.lane, infinity.number) == (60, (30,), -INF)
    assert (nan_launch.seq, nan.lane) == (62, (31,))
