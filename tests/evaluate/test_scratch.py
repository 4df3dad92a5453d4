"""Memory for intermediate results holds what is carved from it, wherever it begins."""

import numpy as np

from kvtrace.evaluate.plan import execute


def test_a_block_that_is_kept_has_room_for_its_alignment() -> None:
    scratch = execute._Scratch()
    for offset in range(execute._ALIGNMENT):
        whole = np.empty(1000 + 2 * execute._ALIGNMENT, np.uint8)
        scratch.block = whole[offset : offset + 1000 + execute._ALIGNMENT]
        block = scratch.of(1000)
        first = -block.ctypes.data % execute._ALIGNMENT
        assert block.nbytes - first >= 1000
        scratch.block = whole[offset : offset + 1000]
        block = scratch.of(1000)
        first = -block.ctypes.data % execute._ALIGNMENT
        assert block.nbytes - first >= 1000
