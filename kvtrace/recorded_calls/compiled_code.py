"""What the code that was made of a kernel for a device tells of the threads of its programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kvtrace.ir import Module
from kvtrace.ir.ptx_places import without_inner_places
from kvtrace.recorded_calls.compiled_barriers import CompiledBarriers
from kvtrace.recorded_calls.compiled_layouts import cta_splits, thread_layouts, trips_ahead
from kvtrace.recorded_calls.thread_layouts import BlockedLayout


@dataclass(frozen=True, slots=True)
class Compiled:
    """What TTGIR and PTX tell.

    `layouts` say, by op index, which threads the lanes of memory ops went to. `barriers` is None
    where there is no PTX, or a program is of several blocks of threads. `ahead` is how many trips
    early a pipelined loop starts loads, by op index. `splits` says of programs of several CTAs
    that do not wait for each other among how many the lanes of memory ops are split, by axis.
    """

    layouts: Mapping[int, BlockedLayout]
    barriers: CompiledBarriers | None
    ahead: Mapping[int, int]
    splits: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def compiled_code(
    module: Module,
    ttgir: str | None,
    ptx: str | None,
    num_ctas: int | None = None,
    *,
    triton: str | None,
) -> Compiled | None:
    """Read the code of a kernel, of `num_ctas` blocks of threads a program; None without TTGIR.

    `triton` is the version whose locations it has.
    """
    if ttgir is None:
        return None
    alone = ptx is not None and num_ctas in (None, 1)
    code = without_inner_places(ptx or "")
    barriers = CompiledBarriers(module, code, triton) if alone else None
    layouts = thread_layouts(module, ttgir, code, triton=triton)
    splits = {} if alone or ptx is None else cta_splits(module, ttgir, code, triton=triton)
    return Compiled(layouts, barriers, trips_ahead(module, ttgir, triton=triton), splits)
