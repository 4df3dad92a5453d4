"""Cases that are derived from a given case: their contents."""

from dataclasses import replace

import numpy as np
import pytest

from kvtrace.inputs.cases import (
    BEYOND,
    Case,
    numpy_dtype,
    parsed_shapes,
    read_cases,
    strided,
    write_cases,
)
from kvtrace.inputs.making import CaseMaker


@pytest.fixture
def maker(tmp_path):
    return CaseMaker(tmp_path, (), 3, named_extents=False)


def given(maker, text):
    return maker.fill(Case("given", "given", parsed_shapes(text, [])), None)


def contents(case, folder):
    """Return the elements of all inputs of a case."""
    return [
        strided(
            np.frombuffer((folder / tensor.file).read_bytes(), numpy_dtype(tensor.dtype)),
            tensor.shape, tensor.strides, tensor.offset,
        )
        for tensor in case.inputs_of_tensors
    ]  # fmt: skip


def derived(maker, text):
    cases = maker.derived_cases(given(maker, text), False, [], [])
    return {case.label: case for case in cases}


def test_equal_inputs_are_one_tensor_in_a_case_beyond(maker, tmp_path):
    case = derived(maker, "x=f32[8], y=f32[8], z=f32[9]")["one tensor as several inputs"]
    assert case.kind == BEYOND
    assert case.shares
    assert [case.shared_with(number) for number in range(3)] == [None, 0, None]
    assert "one tensor as several inputs" not in derived(maker, "x=f32[8], y=f16[8]")


def test_wide_rows_of_the_largest_bytes_need_more_than_sixteen_bits(maker, tmp_path):
    case = derived(maker, "x=i8[4, 100]")["wide rows of the largest bytes"]
    (x,) = contents(case, tmp_path)
    assert int(x.astype(np.int64).sum(-1)[0]) > 1 << 15


def test_derived_cases_include_empty_tensors_and_too_many_rows(maker):
    cases = derived(maker, "x=f32[64, 100]")
    assert cases["without elements"].tensors[0].shape == (0, 100)
    assert cases["65,537 rows"].tensors[0].shape == (65_537, 1)
    assert "65,537 rows" not in derived(maker, "x=f32[64]")


def test_weights_differ_in_a_later_case(tmp_path):
    (tmp_path / "w.bin").write_bytes(np.ones(4, np.float32).tobytes())
    (weight,) = parsed_shapes("w=f32[4]", [])
    case = Case("given", "given", parsed_shapes("x=f32[8]", []))
    maker_ = CaseMaker(tmp_path, (replace(weight, file="w.bin"),), 3, named_extents=False)
    cases = maker_.derived_cases(maker_.fill(case, None), False, [], [])
    later = next(listed for listed in cases if listed.label == "weights loaded after calls")
    assert not (
        np.frombuffer((tmp_path / later.weights[0].file).read_bytes(), np.float32) == 1
    ).any()


def test_some_labels_become_the_ignored_value(maker, tmp_path):
    (case,) = maker.cases_of_ignored_values(given(maker, "x=f32[64, 9], labels=i64[64]"), [-100])
    _, labels = contents(case, tmp_path)
    assert 0 < int((labels == -100).sum()) < 64


def test_a_case_has_a_cotangent_for_each_result_of_floats(maker, tmp_path):
    base = given(maker, "x=f32[8], factor=2.0")
    results = [("float32", (8,)), ("int64", (3,)), ("float32", (2,))]
    write_cases(tmp_path, [*maker.gradient_cases(base, results)])
    plain, gradients = read_cases(tmp_path)
    assert (plain.tracked, plain.cotangents) == (True, 0)
    assert (gradients.tracked, gradients.cotangents) == (True, 2)
    assert [tensor.shape for tensor in gradients.tensors] == [(8,), (8,), (2,)]
    assert not [*maker.gradient_cases(given(maker, "x=i64[8]"), results)]


@pytest.mark.parametrize("dtype", ["i8", "u8", "b1", "i16"])
def test_integers_of_few_bits_have_other_sizes(maker, dtype):
    cases = derived(maker, f"keep={dtype}[100]")
    assert cases["100 → 131073"].tensors[0].shape == (131_073,)


def test_offsets_stay_sorted_in_other_sizes(maker, tmp_path):
    for label, case in derived(maker, "x=f32[64], offsets=i64[20]").items():
        offsets = contents(case, tmp_path)[1]
        assert (np.diff(offsets) >= 0).all(), label


@pytest.mark.parametrize("shape", ["f32[6, 50]", "f64[300]"])
def test_floats_of_other_sizes_are_hardly_ever_equal_where_given_ones_are_not(
    maker, tmp_path, shape
):
    for label, case in derived(maker, f"x={shape}").items():
        if case.kind == "sizes":
            values = contents(case, tmp_path)[0].ravel()
            assert np.unique(values).size > 0.99 * values.size, label


@pytest.mark.parametrize(
    "values", [np.arange(300.0) - 150, np.repeat([0.25, 0.75], 150), np.linspace(-1, 1, 300)]
)
def test_floats_of_other_sizes_stay_whole_few_and_in_range(maker, tmp_path, values):
    values = values.astype(np.float32)
    values.tofile(tmp_path / "x.bin")
    tensor = replace(parsed_shapes("x=f32[300]", [])[0], file="x.bin")
    cases = maker.derived_cases(Case("given", "given", (tensor,)), False, [], [])
    for case in (case for case in cases if case.kind == "sizes" and "other" not in case.label):
        drawn = contents(case, tmp_path)[0]
        assert values.min() <= drawn.min() <= drawn.max() <= values.max()
        assert np.abs(drawn).min() >= np.abs(values).min()
        if np.unique(values).size < 300 or (values == np.rint(values)).all():
            assert np.isin(drawn, values).all()


def test_integers_reach_their_bound_and_sums_of_two_do_not_exceed_it(maker, tmp_path):
    maker.bounds = {1: 64, 2: 64}
    cases = derived(maker, "x=f32[64], start=i64[20], count=i64[20]")
    longest = []
    for case in (case for case in cases.values() if case.kind == "sizes"):
        values, start, count = contents(case, tmp_path)
        assert (start + count <= values.size).all()
        if values.size > 20 < len(start):
            longest += [tensor.max() > values.size // 3 for tensor in (start, count)]
    assert all(longest)


def test_probes_differ_in_the_integers_of_one_tensor(maker, tmp_path):
    case = given(maker, "x=f32[64, 30], index=i64[20], codes=u8[20]")
    probes = list(maker.probes_of_integers(case))
    assert [(number, extent) for number, extent, *_ in probes] == [(1, 64), (1, 30), (1, 20)]
    (_, index, codes), (_, other_index, other_codes) = (
        contents(c, tmp_path) for c in probes[0][2:]
    )
    assert index.max() < other_index.min() < other_index.max() < probes[0][2].tensors[0].shape[0]
    assert (codes == other_codes).all()


@pytest.mark.parametrize(("bounds", "is_tried"), [({1: 30}, False), ({1: 20}, True), ({}, True)])
def test_no_row_numbers_are_passed_with_a_table_without_rows(maker, bounds, is_tried):
    maker.bounds = bounds
    assert ("without elements" in derived(maker, "table=f32[30, 20], index=i64[50]")) == is_tried


def test_lengths_without_rows_are_passed(maker):
    maker.bounds = {1: 30}
    assert "without elements" in derived(maker, "x=f32[30, 20], lengths=i64[30]")
