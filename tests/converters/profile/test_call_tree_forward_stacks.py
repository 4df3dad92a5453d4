"""Forward stacks of generated backwards, found by the lines that they were generated from."""

import pytest

from kvtrace.converters.profile.call_paths import TreeLeaf
from kvtrace.converters.profile.call_tree import with_forward_frames

CALL = "Module._call_impl"
ATTEND, ROTATE, NORM = (158, "attend"), (24, "rotate"), (7, "normalize")


def frames(*functions, file=None):
    rows = [{"file": "m.py", "line": 1, "function": function} for function in functions]
    generated = {"file": file, "line": 9, "function": "Runner.call"}
    return [generated, *rows] if file else rows


def leaf(stack, *places):
    origins = [
        {"op": "aten.mul", "node": "mul", "module": None, "file": "m.py", "line": line,
         "function": function}
        for line, function in places
    ]  # fmt: skip
    return TreeLeaf(None, stack, ("cuBLAS", "gemm"), origins)


def forward(module, *places):
    return leaf(frames(f"{module}.forward", CALL, "main"), *places)


def backward(letters, *places):
    file = f"/cache/{letters}/c{letters}abc.py"
    return leaf(frames("BackwardCFunction.apply", file=file), *places)


def found(*leaves):
    """The innermost functions of the forwards that are found, of all backwards."""
    return [
        each.forward_frames and each.forward_frames[0]["function"]
        for each in with_forward_frames(leaves)
        if each.in_backward
    ]


def test_backward_has_the_stack_of_the_forward_from_its_line():
    assert found(forward("Attention", ATTEND), backward("i3", ATTEND)) == ["Attention.forward"]


def test_all_kernels_of_a_file_have_the_stack_that_one_of_its_lines_has():
    leaves = (forward("Attention", ATTEND), backward("i3", ATTEND), backward("i3", ROTATE))
    assert found(*leaves) == ["Attention.forward"] * 2


def test_line_of_two_modules_is_decided_by_another_line_of_the_file():
    both = (forward("Attention", NORM, ATTEND), forward("Mlp", NORM))
    assert found(*both, backward("i3", NORM)) == [None]
    assert found(*both, backward("i3", NORM), backward("i3", ATTEND)) == ["Attention.forward"] * 2
    assert found(*both, backward("i3", NORM), backward("k4", ATTEND)) == [None, "Attention.forward"]


@pytest.mark.parametrize("other", [forward("Mlp", ROTATE), backward("k4", ATTEND)])
def test_backward_without_a_line_of_a_forward_stays_as_it_is(other):
    assert found(other, backward("i3", ATTEND))[-1] is None


def test_recorded_stack_of_a_node_is_left_alone():
    recorded = TreeLeaf(
        None, frames("BackwardCFunction.apply"), ("cuBLAS", "gemm"),
        leaf((), ATTEND).origins, frames("Own.forward", CALL),
    )  # fmt: skip
    assert found(forward("Attention", ATTEND), recorded) == ["Own.forward"]
