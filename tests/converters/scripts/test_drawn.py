"""Contents drawn from recorded numbers of tensors, compared with the tensors."""

import math
from importlib.resources import files
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.capture.sample_numbers import numbers_of, values_of
from kvtrace.converters.scripts.drawn import Drawn, drawn_from, statistics_of_storage
from kvtrace.schema.element_values import LEVELS
from kvtrace.schema.tensor_statistics import TensorStatistics

COUNT = 20_000
#: What a script of `kvtrace repro` defines, without a call's data.
SCRIPT = (files("kvtrace.converters.scripts") / "repro_script.txt").read_text(encoding="utf-8")
launching = ModuleType("launching")
exec(SCRIPT, vars(launching))


def numbers(values: torch.Tensor) -> TensorStatistics:
    content = values.contiguous().view(torch.uint8).numpy().tobytes()
    name = {torch.float32: "fp32", torch.float16: "fp16", torch.int64: "i64"}[values.dtype]
    fields = numbers_of(values_of(content, name))
    quantiles = tuple(fields.pop("quantiles") or ())
    return TensorStatistics(elements=values.numel(), quantiles=quantiles, **fields)


def drawn_like(values: torch.Tensor, count: int = COUNT) -> torch.Tensor:
    drawn = drawn_from(numbers(values))
    assert drawn is not None
    name = str(values.dtype).removeprefix("torch.")
    storage = launching.Storage(
        count * values.element_size(), name, None, launching.Drawn(*astuple_of(drawn))
    )
    call = launching.Call("kernel", (1, 1, 1), {}, {}, {}, None, "ttir", "", {}, {}, {})
    return launching.filled(call, storage, 3).view(values.dtype)


def astuple_of(drawn: Drawn) -> tuple[object, ...]:
    return tuple(getattr(drawn, name) for name in Drawn.__dataclass_fields__)


def test_levels_and_fields_of_the_script_are_those_of_the_format() -> None:
    assert launching.LEVELS == LEVELS
    assert launching.Drawn._fields == tuple(Drawn.__dataclass_fields__)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("zeros", [0.0, 0.03, 0.6])
def test_drawn_floats_have_about_the_recorded_numbers(dtype: torch.dtype, zeros: float) -> None:
    torch.manual_seed(1)
    values = (torch.randn(COUNT) * 3 - 1).to(dtype)
    values[torch.rand(COUNT) < zeros] = 0
    drawn = drawn_like(values)
    assert drawn.min() >= values.min()
    assert drawn.max() <= values.max()
    assert drawn.double().mean() == pytest.approx(float(values.double().mean()), abs=0.1)
    assert drawn.double().std() == pytest.approx(float(values.double().std()), rel=0.03)
    shares = [float((tensor == 0).float().mean()) for tensor in (values, drawn)]
    assert shares[1] == pytest.approx(shares[0], abs=0.01)
    shares = [float((tensor < 0).float().mean()) for tensor in (values, drawn)]
    assert shares[1] == pytest.approx(shares[0], abs=0.02)


def test_infinities_are_drawn_and_nans_are_not() -> None:
    values = torch.randn(COUNT)
    values[::2], values[1::10], values[3::10] = -math.inf, math.inf, math.nan
    drawn = drawn_like(values)
    assert not drawn.isnan().any()
    assert float(drawn.isneginf().float().mean()) == pytest.approx(0.5 / 0.9, abs=0.02)
    assert float(drawn.isposinf().float().mean()) == pytest.approx(0.1 / 0.9, abs=0.02)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_drawn_integers_are_in_the_recorded_range(values: list[int]) -> None:
    recorded = torch.tensor(values)
    drawn = drawn_like(recorded, 100)
    slack = 1024  # of float64, in which ranges are recorded
    assert int(drawn.min()) >= min(values) - slack
    assert int(drawn.max()) <= max(values) + slack


@pytest.mark.parametrize("descending", [False, True])
def test_sorted_tensors_are_drawn_sorted(descending: bool) -> None:
    values = torch.randint(0, 50, (COUNT,)).sort(descending=descending).values
    drawn = drawn_like(values)
    assert torch.equal(drawn, drawn.sort(descending=descending).values)
    assert drawn.unique().numel() > 30


def test_constant_tensors_are_drawn_constant() -> None:
    assert drawn_like(torch.full((10,), 2.5)).unique().tolist() == [2.5]
    assert drawn_like(torch.zeros(10)).unique().tolist() == [0.0]


def test_contents_of_a_seed_are_the_same_each_time() -> None:
    values = torch.randn(COUNT)
    assert torch.equal(drawn_like(values), drawn_like(values))


def test_nothing_is_drawn_from_nans_alone() -> None:
    assert drawn_from(numbers(torch.full((10,), math.nan))) is None


def test_a_storage_is_drawn_from_the_largest_of_its_tensors() -> None:
    rows = [
        {"name": name, "alias_group": group} for name, group in (("a", 0), ("b", 0), ("c", None))
    ]
    small, large, other = (numbers(torch.ones(count)) for count in (3, 9, 20))
    statistics = {0: small, 1: large, 2: other}
    assert statistics_of_storage(rows, "a", statistics) is large
    assert statistics_of_storage(rows, "c", statistics) is other
    assert statistics_of_storage(rows, "a", {}) is None
