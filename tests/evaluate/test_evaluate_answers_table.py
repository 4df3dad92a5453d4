"""The file of questions and answers, and the operands that are asked about."""

import numpy as np
import pytest

from tests.kernels.answers.elementwise import cast_operands, defined_operands
from tests.kernels.answers.library import overloads
from tests.kernels.answers.question import Buffer, Question, empty
from tests.kernels.answers.table import Run, Table, merged, read, write
from tests.kernels.answers.values import FLOATS, FORMATS, NARROW, decoded, encoded, pairs, singles
from tests.kernels.case import NUMPY

FIRST = Run("H100", "sm_90", "3.6.0", "2.11")
SECOND = Run("H200", "sm_90", "3.6.0", "2.11")


def a_table(run, answer):
    x = Buffer("fp16", np.array([0, 0x3C00], np.uint16))
    question = Question(
        "exp", "fp16", "elementwise.of_one", {"x": x, "out": empty("fp16", 2), "n": 3}, ("out",),
        {"NAME": "exp", "N": 2}, options={"enable_fp_fusion": False},
    )  # fmt: skip
    refused = Question("exp", "i8", "elementwise.of_one", {"x": empty("i8", 2)}, ("x",))
    return Table([question, refused], {run: [{"out": answer}, "refused: no"]})


def test_a_table_reads_as_it_was_written(tmp_path):
    answer = np.array([0x3C00, 0x7C01], np.uint16)
    written = a_table(FIRST, answer)

    write(tmp_path / "table.npz", written)
    result = read(tmp_path / "table.npz")

    assert list(result.answers) == [FIRST]
    assert result.answers[FIRST][0]["out"].tolist() == answer.tolist()
    assert result.answers[FIRST][1] == "refused: no"
    for before, after in zip(written.questions, result.questions, strict=True):
        assert (before.name, before.outputs, before.constexprs, before.options) == (
            after.name, after.outputs, after.constexprs, after.options
        )  # fmt: skip
        for name, value in before.arguments.items():
            if isinstance(value, Buffer):
                assert after.arguments[name].dtype == value.dtype
                assert after.arguments[name].bits.tolist() == value.bits.tolist()
            else:
                assert after.arguments[name] == value


def test_runs_of_other_chips_become_columns_of_one_table():
    first, second = np.array([1, 2], np.uint16), np.array([1, 3], np.uint16)
    other = a_table(SECOND, second)
    other.questions.reverse()
    other.answers[SECOND].reverse()

    table = merged([a_table(FIRST, first), other])

    assert list(table.answers) == [FIRST, SECOND]
    assert table.answers[SECOND][0]["out"].tolist() == [1, 3]
    assert table.answers[SECOND][1] == "refused: no"


@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW])
def test_bits_stand_for_the_numbers_of_their_type(dtype):
    bits = singles(dtype, 128)

    numbers = decoded(dtype, bits)

    right = bits.view(NUMPY[dtype]).astype(np.float64)
    np.testing.assert_array_equal(numbers, right)
    finite = np.isfinite(numbers)
    assert encoded(dtype, numbers[finite]).tolist() == bits[finite].tolist()


@pytest.mark.parametrize(
    ("source", "target"), [("fp32", "fp8e5"), ("fp64", "bf16"), ("fp16", "fp8e4nv")]
)
def test_some_operands_of_a_cast_lie_midway_between_two_results(source, target):
    numbers = decoded(source, cast_operands(source, target))
    every = np.arange(2 ** FORMATS[target].width, dtype=FORMATS[target].bits)
    ordered = np.unique(decoded(target, every))
    middles = (ordered[1:-1] + ordered[:-2]) / 2

    assert np.isin(numbers, middles[np.isfinite(middles)]).sum() > 10


@pytest.mark.parametrize("dtype", ["i8", "i64", "u32"])
def test_no_quotient_is_undefined(dtype):
    a, b = (bits.view(NUMPY[dtype]).tolist() for bits in defined_operands("//", dtype))

    assert 0 not in b
    if dtype.startswith("i"):
        assert (np.iinfo(NUMPY[dtype]).min, -1) not in set(zip(a, b, strict=True))
    assert len(set(zip(a, b, strict=True))) > 200


def test_operands_of_a_cast_to_an_integer_fit_into_it():
    for source in FLOATS:
        for target in ("i8", "u32", "i64", "u64"):
            numbers = np.trunc(decoded(source, cast_operands(source, target)))
            limits = np.iinfo(NUMPY[target])
            assert all(limits.min <= int(number) <= limits.max for number in numbers.tolist())


def test_pairs_hold_every_special_value_twice():
    left, right = pairs("fp32")

    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == 256


def test_overloads_are_those_of_tritons_tables():
    by_name = {(each.name, each.operands): each.result for each in overloads()}

    assert by_name["mulhi", ("u64", "u64")] == "u64"
    assert by_name["ldexp", ("fp64", "i32")] == "fp64"
    assert len(by_name) > 290
