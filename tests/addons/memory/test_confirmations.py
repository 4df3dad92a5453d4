"""Runs with and without recorded memory."""

from kvtrace.addons.memory.confirmations import is_recorded
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import A, given, tensor


def test_a_run_without_operations_has_no_recorded_memory(tmp_path):
    nothing = hand_made.write(tmp_path / "a", operators=[], calls=[[given(400)]],
                              events=[("launch", 20, 0, [A])])  # fmt: skip
    one = hand_made.write(tmp_path / "b", operators=[("aten::zeros", 20, [tensor("created", 400)])],
                          calls=[], events=[("operator", 30, 0, [A])])  # fmt: skip

    assert not is_recorded(nothing, nothing.runs[0])
    assert is_recorded(one, one.runs[0])
