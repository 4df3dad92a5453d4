"""Loads that may give what the launch itself wrote, which trees leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.addons.invariance.kernels import Kernel
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.evaluate.arguments import TensorArgument
    from kvtrace.symbolic.summary import Access


def read_after_write(tree: Tree, store: Access, kernel: Kernel) -> list[Access]:
    """Return the loads in a tree that a store of the same program may come before.

    Args:
        tree: What some store of the kernel writes.
        store: A store of it.
        kernel: The kernel, with the tensors of a recorded call: two of one storage may be one.

    """
    read = {node.op for node in tree.walk() if node.what == "element"}
    return [
        load
        for load in kernel.summary.accesses
        if load.kind == "load"
        and load.op.index in read
        and _may_share(load, store, kernel)
        and not _comes_before(load, store)
    ]


def _may_share(load: Access, store: Access, kernel: Kernel) -> bool:
    """Whether two accesses may be to the same memory."""
    if load.argument is None or store.argument is None or load.argument == store.argument:
        return True
    first, second = kernel.tensor(load.argument), kernel.tensor(store.argument)
    if first is None or second is None or first.storage is not second.storage:
        return False
    (start, end), (other_start, other_end) = _reach(first), _reach(second)
    return start < other_end and other_start < end


def _reach(tensor: TensorArgument) -> tuple[int, int]:
    first, last = tensor.view_bytes
    return tensor.offset_bytes + first, tensor.offset_bytes + last


def _comes_before(load: Access, store: Access) -> bool:
    """Whether a load is over before a store, in each program."""
    apart = not {loop.op for loop in load.loops} & {loop.op for loop in store.loops}
    return apart and not load.calls and not store.calls and load.op.index < store.op.index
