"""Places of allocations and operators, as messages name them."""

import pytest

from kvtrace.addons.memory.judged import findings_of, unwritten_memory
from kvtrace.addons.memory.lives import Birth
from kvtrace.addons.memory.run_memory import RunMemory
from kvtrace.schema.errors import DamagedFile
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import A, B, tensor

C, D = 0x30000, 0x40000


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    trace = hand_made.write(
        tmp_path_factory.mktemp("places") / "out",
        operators=[
            ("aten::empty.memory_format", 12, [tensor("created", 400)]),
            ("aten::mul.Tensor", 30, [tensor("created", 400)]),
            ("mine::plus", 31, [tensor("created", 400)]),
        ],
        calls=[],
        events=[
            ("allocation", 10, None, A, 512, None),
            ("allocation", 20, None, B, 400, 7),
        ],
    )
    return RunMemory(trace, trace.runs[0]).places


@pytest.mark.parametrize(
    ("birth", "place"),
    [
        (Birth("operator", 0), "torch.empty at model.py:12"),
        (Birth("operator", 1), "torch.mul (first called at model.py:30)"),
        (Birth("operator", 2), "mine::plus (first called at model.py:31)"),
        (Birth("operator", 99), "?"),
        (Birth("allocation", 0), "an unnamed operator"),
        (Birth("allocation", 1), "generated code at model.py:7"),
        (Birth("unseen"), "code that kvtrace does not see"),
    ],
)
def test_a_storage_is_named_by_what_allocated_it_and_where(places, birth, place):
    assert places.birth(birth) == place


@pytest.mark.parametrize("mover", ["aten::clone", "aten::_to_copy", "aten::contiguous"])
@pytest.mark.parametrize("maker", ["aten::empty.memory_format", "aten::resize_"])
def test_unwritten_values_are_followed_through_copies_to_the_line_that_made_them(
    tmp_path, mover, maker
):
    copy = [tensor("read", 400), tensor("created", 400)]
    trace = hand_made.write(
        tmp_path / "out",
        operators=[
            (maker, 12, [tensor("written", 0), tensor("created", 400)]),
            (mover, 30, copy),
            ("aten::sum", 31, [tensor("read", 400), tensor("created", 4)]),
        ],
        calls=[],
        events=[
            ("operator", 10, 0, [0, A]),
            ("operator", 20, 1, [A, B]),
            ("operator", 30, 1, [B, C]),
            ("operator", 40, 2, [C, D]),
        ],
    )
    (judged,) = unwritten_memory(trace, trace.runs[0])
    assert judged.line == "model.py:12"
    assert "with values of what torch." in judged.row["message"]
    assert " at model.py:12 made" in judged.row["message"]


def test_an_operator_may_have_no_name_no_tensors_or_tensors_without_a_place(tmp_path):
    placeless = {**tensor("read", 400), "shape": None, "dtype": None}
    unsized = {**tensor(None, 400), "strides": [None]}
    trace = hand_made.write(
        tmp_path / "out", operators=[(None, 12, None), ("aten::mul", 13, [placeless, unsized])],
        calls=[], events=[],
    )  # fmt: skip
    nameless, moved = RunMemory(trace, trace.runs[0]).operators.values()
    assert (nameless.name, nameless.tensors) == ("?", ())
    read, written = moved.effects.effects
    assert read.may_read.size == 400
    assert not read.may_write
    assert written.may_write.size == 400


def test_calls_that_do_not_fit_their_operator_are_damage(tmp_path):
    trace = hand_made.write(
        tmp_path / "out",
        operators=[("mine::plus", 30, [tensor("read", 400)])],
        calls=[],
        events=[("operator", 20, 0, [A, B])],
    )
    with pytest.raises(DamagedFile, match="have different numbers of tensors"):
        findings_of(trace, trace.runs[0], named=False)
