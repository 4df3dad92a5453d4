"""Memory for intermediate results has room for what is carved from it, at aligned addresses."""

import pytest

from kvtrace.evaluate.plan import execute


@pytest.mark.parametrize("size", [0, 1000, 1 << 19, (4 << 20) + 1, 9 << 20])
def test_a_block_has_room_and_begins_at_an_aligned_address(size: int) -> None:
    scratch = execute._Scratch()
    block = scratch.of(size)
    assert block.nbytes >= size
    assert block.ctypes.data % execute._ALIGNMENT == 0


def test_a_block_is_kept_until_a_larger_one_is_needed() -> None:
    scratch = execute._Scratch()
    block = scratch.of(3000)
    assert scratch.of(1000) is block
    larger = scratch.of(8 << 20)
    assert larger is not block
    assert scratch.of(3000) is larger
