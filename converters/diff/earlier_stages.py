"""Texts of kernels that add-ons write, before those of a compiler: the group `kvtrace.diff_stages`.

Kernels that differ in one are different kernels, whatever else is the same of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kvtrace import registry

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


@dataclass(frozen=True, slots=True)
class EarlierStage:
    """What a stage is called, and what writes its texts, as MLIR, by run id and kernel id.

    Numbers of other facts are not looked for in them.
    """

    label: str
    texts: "Callable[[Selection], Mapping[tuple[str, int], str]]"


@cache
def earlier_stages() -> Mapping[str, EarlierStage]:
    """Return every such stage, by its name."""
    return dict(registry.loaded("diff_stages"))
