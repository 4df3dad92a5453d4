"""Runs with and without recorded memory."""

from kvtrace.addons.memory.confirmations import is_recorded
from tests.addons.memory import hand_made
from tests.addons.memory.hand_made import A, given


def test_a_run_without_operations_has_no_recorded_memory(tmp_path):
    nothing = hand_made.write(tmp_path / "a", operators=[], calls=[[given(400)]],
                              events=[("launch", 20, 0, [A])])  # fmt: skip
    small = hand_made.small_program(tmp_path / "b", frees=False)

    assert not is_recorded(nothing, nothing.runs[0])
    assert is_recorded(small, small.runs[0])
