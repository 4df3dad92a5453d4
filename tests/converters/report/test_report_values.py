"""Recorded tensors: elements by type and strides, histograms, and their blocks."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kvtrace.converters.report.tensor_elements import BINS, Layout, elements_of, histogram
from kvtrace.schema.content import artifact_row
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.converters.replayed_trace import blocks_of, json_blocks
from tests.converters.written_trace import Op, add_ops
from tests.support.packed import read_bytes, read_json
from tests.support.thorough import usually

TORCH = {
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}


@pytest.mark.parametrize("dtype", TORCH)
def test_8_bit_floats_have_the_values_that_torch_gives_them(dtype):
    patterns = torch.arange(256, dtype=torch.uint8)
    expected = patterns.view(TORCH[dtype]).float().numpy()
    found = elements_of(bytes(range(256)), Layout(dtype, 0, (256,), (1,)))
    np.testing.assert_array_equal(found, expected)


def test_bf16_has_the_values_that_torch_gives_it():
    values = torch.randn(1000).bfloat16()
    content = values.view(torch.uint8).numpy().tobytes()
    found = elements_of(content, Layout("bf16", 0, (1000,), (1,)))
    np.testing.assert_array_equal(found, values.float().numpy())


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((3, 4), (4, 1), 0), ((4, 3), (1, 4), 0), ((2, 2), (8, 2), 5), ((5,), (0,), 3), ((), (), 7)],
)
def test_elements_are_read_at_offset_and_strides(shape, strides, offset):
    storage = np.arange(24, dtype=np.float32)
    expected = torch.as_strided(torch.from_numpy(storage), shape, strides, offset).numpy()
    found = elements_of(storage.tobytes(), Layout("fp32", 4 * offset, shape, strides))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "layout",
    [
        Layout("fp32", 4, (4,), (1,)),  # one element past the end
        Layout("fp32", -4, (2,), (1,)),
        Layout("fp32", 0, (2,), (-1,)),
        Layout("unheard of", 0, (2,), (1,)),
        Layout(None, 0, (2,), (1,)),
        Layout("fp32", 0, (2, 2), (1,)),
    ],
)
def test_missing_or_unknown_elements_are_none(layout):
    assert elements_of(bytes(16), layout) is None


@settings(max_examples=usually(15, thorough=60), deadline=None)
@given(arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32)))
def test_a_histogram_counts_every_element_once(values):
    found = histogram(values)
    assert found.elements == values.size
    assert sum(found.counts) + found.nan + found.inf == values.size
    assert found.zeros == (values == 0).sum()
    assert len(found.edges) == (len(found.counts) + 1 if found.counts else 0)
    if found.counts:
        finite = values[np.isfinite(values)]
        assert (found.min, found.max) == (finite.min(), finite.max())
        assert found.mean is None or math.isfinite(found.mean)


@settings(max_examples=usually(10, thorough=40), deadline=None)
@given(arrays(np.int64, st.integers(1, 40), elements=st.integers(-20, 20)))
def test_few_integers_have_one_bin_each(values):
    found = histogram(values)
    expected = np.unique(values, return_counts=True)
    if len(expected[0]) > 1 and found.max - found.min < BINS:
        bins = {int(edge): n for edge, n in zip(found.edges, found.counts, strict=False) if n}
        assert bins == dict(zip(*(column.tolist() for column in expected), strict=True))


@pytest.mark.parametrize(
    "values", [np.full(5, 2.5), np.array([-1.7e308, 1.7e308]), np.array([True, False, True])]
)
def test_histogram_edges_of_extreme_ranges_are_finite(values):
    found = histogram(values)
    assert sum(found.counts) == values.size
    assert all(math.isfinite(edge) for edge in found.edges)


def test_a_recorded_tensor_is_on_the_page_with_its_histogram(tmp_path):
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    content = artifact_row("tensor", values.tobytes())
    writer = RunWriter(tmp_path / "out", "20260102T030405-values")
    tensor = {
        "name": "x", "kind": "tensor", "dtype": "i32", "shape": [3, 2], "strides": [4, 1],
        "offset_bytes": 8, "storage_bytes": 48, "value_artifact": content["sha256"],
    }  # fmt: skip
    scalar = {"name": "n", "kind": "scalar", "dtype": "i32", "scalar": "3"}
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.append_rows("artifacts", [content])
    writer.append_rows(
        "calls",
        [{"call_id": 0, "kernel_id": 0, "grid_x": 1, "grid_y": 1, "grid_z": 1,
          "args": [scalar, tensor]}],
    )  # fmt: skip
    writer.append_rows("launches", [{"seq": 0, "call_id": 0, "enter": 5, "exit": 9}])
    writer.seal({})
    selection = resolve(str(tmp_path / "out"))
    add_ops(selection, [Op(0, 1, "load", 4, {"bytes": 24})])

    budget = blocks_of(selection)

    (value,) = json_blocks(budget, "call")[0]["values"]
    assert (value["arg"], value["name"], value["measured"]) == (1, "x", True)
    assert (value["histogram"]["min"], value["histogram"]["max"]) == (2, 11)
    assert read_bytes(budget.blocks[f"tensor/{value['artifact']}"]) == values.tobytes()
    assert read_json(budget.blocks["report"])["arguments"][1]["value"] == value["artifact"]
