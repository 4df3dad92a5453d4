"""PyTorch's functions in plans, against NumPy's."""

import sys
import time

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.plan import array_functions, torch_kernels
from kvtrace.evaluate.plan.optimize import optimized
from kvtrace.evaluate.plan.planning import executable, generated, planned_regions
from kvtrace.evaluate.plan.steps import PlanCompiler
from tests.evaluate.plan.both_ways import values, with_copied_storages
from tests.kernels.attention import attention
from tests.kernels.basic import matmul, softmax
from tests.kernels.launching import bind, compile_for
from tests.kernels.normalization import layer_norm_forward


class Watch(TorchDispatchMode):
    """A dispatch mode that records the functions that PyTorch runs."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
        return function(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    monkeypatch.setattr(torch_kernels, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(torch_kernels, "LEAST_MULTIPLICATIONS", 1)


@pytest.fixture
def called_functions(monkeypatch):
    """Return a list that receives the names of PyTorch's functions as they are called."""
    names = []

    def note(module, name):
        function = getattr(module, name)

        def noted(*args, **kwargs):
            names.append(name)
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, noted)

    for name in ("amax", "amin", "add", "sub", "mul", "div", "from_numpy"):
        note(torch, name)
    return names


def numbers(*shape, special=()):
    array = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    array.reshape(-1)[: len(special)] = special
    return array


SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.39e38, -3.4e38)


@pytest.mark.parametrize("function", [np.fmax, np.fmin])
@pytest.mark.parametrize("special", [(), SPECIAL, (np.nan,) * 33])
def test_row_extremes_by_pytorch_equal_numpy(function, special, called_functions):
    array = numbers(5, 7, 33, special=special)
    out = np.empty((5, 7), np.float32)

    torch_kernels.reduction(function, array.dtype)(array, 2, array.dtype, out)

    assert {"amax", "amin"} & set(called_functions)
    assert np.array_equal(out, function.reduce(array, 2), equal_nan=True)


@pytest.mark.parametrize("function", list(torch_kernels.BROADCAST))
@pytest.mark.parametrize("shapes", [((6, 33), (6, 1)), ((6, 1), (6, 33)), ((6, 33), (1, 33))])
def test_row_operations_by_pytorch_equal_numpy(function, shapes, called_functions):
    left, right = (numbers(*shape, special=SPECIAL[: shape[0] * shape[1]]) for shape in shapes)
    wide = np.empty((6, 40), np.float32)
    out = wide[:, :33]

    torch_kernels.BROADCAST[function](left, right, out)

    assert {"add", "sub", "mul", "div"} & set(called_functions)
    with np.errstate(all="ignore"):
        assert np.array_equal(out, function(left, right), equal_nan=True)


@pytest.mark.parametrize("special", [(), SPECIAL])
def test_bf16_rounding_by_pytorch_equals_numpy(special, called_functions):
    array = numbers(9, 31, special=special)
    ours, numpys = np.empty_like(array), np.empty_like(array)
    torch_kernels.round_bf16_into(array, ours)
    array_functions.round_bf16_into(array, numpys)
    narrow, numpys_narrow = (np.empty(array.shape, ml_dtypes.bfloat16) for _ in range(2))
    torch_kernels.round_and_narrow_into(array, narrow)
    with np.errstate(all="ignore"):
        array_functions.round_and_narrow_into(array, numpys_narrow)

    assert "from_numpy" in called_functions
    assert np.array_equal(ours.view(np.uint32), numpys.view(np.uint32))
    assert np.array_equal(narrow.astype(np.float32), numpys_narrow.astype(np.float32), True)


@pytest.mark.parametrize("stacks", [(), (3, 3), (3, 1), (1, 3)])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_products_by_pytorch_equal_numpy(stacks, transposed, called_functions):
    first = numbers(*stacks[:1], 20, 16)
    second = numbers(*stacks[1:], 16, 24)
    if transposed:
        second = np.ascontiguousarray(second.swapaxes(-1, -2)).swapaxes(-1, -2)
    exact = first.astype(np.float64) @ second.astype(np.float64)
    out, total = np.full(exact.shape, np.nan, np.float32), np.ones(exact.shape, np.float32)

    torch_kernels.multiplied(first, second, out)
    torch_kernels.multiplied_onto(first, second, total)

    assert "from_numpy" in called_functions
    assert np.allclose(out, exact, rtol=0, atol=1e-5)
    assert np.allclose(total, 1 + exact, rtol=0, atol=1e-5)


def test_products_of_factors_with_gaps_between_rows_are_as_fast():
    first, second = numbers(960, 100)[:, :64], numbers(64, 1000)[:, :960]
    out = np.empty((960, 960), np.float32)

    def seconds(left, right):
        begin = time.process_time()
        torch_kernels.multiplied(left, right, out)
        return time.process_time() - begin

    dense = min(seconds(first.copy(), second.copy()) for _ in range(5))
    # oneDNN's fallback takes 2000 times as long.
    assert min(seconds(first, second) for _ in range(5)) < 200 * dense
    exact = first.astype(np.float64) @ second.astype(np.float64)
    assert np.allclose(out.astype(np.float64), exact, rtol=2**-8, atol=1e-2)


def settings_of_precision():
    yield lambda: torch.set_float32_matmul_precision("medium")
    if hasattr(torch.backends.mkldnn, "matmul"):
        yield lambda: setattr(torch.backends.mkldnn.matmul, "fp32_precision", "bf16")


@pytest.mark.parametrize("ask_for_less", list(settings_of_precision()))
def test_products_use_all_bits_although_the_program_allows_fewer(ask_for_less, called_functions):
    first, second = numbers(20, 16), numbers(16, 24)
    out = np.empty((20, 24), np.float32)
    try:
        ask_for_less()
        torch_kernels.multiplied(first, second, out)
    finally:
        if hasattr(torch.backends.mkldnn, "matmul"):
            torch.backends.mkldnn.matmul.fp32_precision = "none"
        torch.set_float32_matmul_precision("highest")

    assert not called_functions
    assert np.array_equal(out, first @ second)


def test_pytorch_is_not_called_under_a_mode_of_the_program():
    array, out = numbers(6, 33), np.empty((6,), np.float32)
    with Watch() as watch:
        torch_kernels.largest(array, 1, array.dtype, out)
        torch_kernels.multiplied(array, array.T, np.empty((6, 6), np.float32))
        torch_kernels.round_bf16_into(array, np.empty_like(array))
        assert watch.calls == 0
        torch.ones(1)
        assert watch.calls > 0
    assert np.array_equal(out, array.max(1))


def test_pytorch_is_not_called_under_its_profiler():
    array, out = numbers(6, 33), np.empty((6,), np.float32)
    with torch.profiler.profile() as profile:
        torch_kernels.largest(array, 1, array.dtype, out)
        torch.ones(1)
    names = {event.key for event in profile.key_averages()}
    assert "aten::ones" in names
    assert "aten::amax" not in names
    assert np.array_equal(out, array.max(1))


def test_read_only_arrays_are_not_passed_to_pytorch(called_functions):
    array, out = numbers(6, 33), np.empty((6,), np.float32)
    array.flags.writeable = False

    torch_kernels.largest(array, 1, array.dtype, out)

    assert not called_functions
    assert np.array_equal(out, array.max(1))


def launches(dtype):
    x = torch.randn(20, 64).to(dtype)
    yield softmax, (20,), {
        "out": torch.empty_like(x), "x": x, "x_stride": 64, "out_stride": 64, "rows": 20,
        "columns": 64,
    }, {"BLOCK": 64}  # fmt: skip
    yield layer_norm_forward, (20,), {
        "x": x, "y": torch.empty_like(x), "weight": torch.randn(64).to(dtype),
        "bias": torch.randn(64).to(dtype), "mean_out": torch.empty(20),
        "rstd_out": torch.empty(20), "stride": 64, "columns": 64, "eps": 1e-5,
    }, {"BLOCK": 16}  # fmt: skip
    a, b = torch.randn(64, 40).to(dtype), torch.randn(40, 96).to(dtype)
    yield matmul, (6,), {
        "a": a, "b": b, "c": torch.empty(64, 96).to(dtype), "m": 64, "n": 96, "k": 40,
        "stride_am": 40, "stride_ak": 1, "stride_bk": 96, "stride_bn": 1, "stride_cm": 96,
        "stride_cn": 1,
    }, {
        "BM": 32, "BN": 32, "BK": 16, "GROUP": 2, "ACTIVATION": "", "PRECISION": "ieee",
    }  # fmt: skip
    q, k, v = (torch.randn(1, 2, 96, 16).to(dtype) for _ in range(3))
    yield attention, (3, 2), {
        "q": q, "k": k, "v": v, "out": torch.empty_like(q), "log_sum": torch.empty(2, 96),
        "scale": 0.25, "heads": 2, "length": 96, "batch_stride": q.stride(0),
        "head_stride": q.stride(1), "row_stride": 16,
    }, {"BM": 32, "BN": 16, "D": 16, "CAUSAL": True}  # fmt: skip


def run_by_plan(function, grid, arguments, constexprs, *, torch):
    """Run a launch by code that was generated with or without PyTorch's functions."""
    module = compile_for(function, arguments, constexprs)
    given = tuple(with_copied_storages(bind(function, arguments)))
    tensors = {n: a for n, a in enumerate(given) if isinstance(a, TensorArgument)}
    storages = written_storages(module, given)
    written = frozenset(n for n, tensor in tensors.items() if tensor.storage in storages)
    compiler = PlanCompiler(module)
    regions = planned_regions(compiler, given, (*grid, 1, 1)[:3], written, runs=True).planned
    offsets = {number: tensor.offset_bytes for number, tensor in tensors.items()}
    buffers = [tensors[n].storage.data if n in tensors else None for n in range(len(given))]
    numbers = [None if n in tensors else np.float32(a.value) for n, a in enumerate(given)]
    for plan in regions:
        axes = plan.region.axes
        instructions = optimized(plan.instructions)
        code = generated(instructions, axes, offsets, torch=torch)
        ranges = [plan.region.ranges[axis] for axis in axes]
        executable(code, ranges).run(buffers, numbers)
    return given


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("number", range(4))
def test_launches_with_pytorch_equal_launches_without(dtype, number, called_functions):
    torch.manual_seed(number)
    launch = list(launches(dtype))[number]
    without = run_by_plan(*launch, torch=False)
    assert not called_functions
    with_torch = run_by_plan(*launch, torch=True)
    assert "from_numpy" in called_functions

    # Attention cuts its weights to tf32, which makes one bit of ten out of the last of 23.
    in_float32 = 2e-3 if launch[0] is attention else 1e-5
    rounding = in_float32 if dtype == torch.float32 else 1.6e-2
    for ours, numpys in zip(with_torch, without, strict=True):
        if isinstance(ours, TensorArgument):
            scale = max(1.0, np.abs(values(numpys)).max())
            assert np.allclose(values(ours), values(numpys), rtol=0, atol=rounding * scale)


def test_code_generated_with_pytorch_runs_without_pytorch():
    array = numbers(6, 33)
    known = sys.modules.pop("torch")
    try:
        out, product = np.empty((6,), np.float32), np.empty((6, 6), np.float32)
        torch_kernels.largest(array, 1, array.dtype, out)
        torch_kernels.multiplied(array, array.T, product)
    finally:
        sys.modules["torch"] = known
    assert np.array_equal(out, array.max(1))
    assert np.array_equal(product, array @ array.T)


def test_pytorch_is_never_imported():
    assert "torch" in sys.modules
    known = sys.modules.pop("torch")
    try:
        assert not torch_kernels.is_available()
        assert "torch" not in sys.modules
    finally:
        sys.modules["torch"] = known
