"""The file of questions and answers of devices."""

import numpy as np

from tests.kernels.answers.question import Buffer, Question, empty
from tests.kernels.answers.table import Run, Table, merged, read, write

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
