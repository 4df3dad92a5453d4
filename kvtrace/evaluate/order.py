"""Whether programs may run side by side, or one must see what others wrote."""

from __future__ import annotations

from collections.abc import Sequence

from kvtrace.evaluate.arguments import Argument, Storage, TensorArgument
from kvtrace.ir import Module


def written_storages(module: Module, arguments: Sequence[Argument]) -> frozenset[Storage]:
    return frozenset(a.storage for a in arguments if isinstance(a, TensorArgument))


def needs_order(
    module: Module, arguments: Sequence[Argument], grid: tuple[int, int, int]
) -> bool:
    return False
