"""Facts about the threads of a kernel's programs, from its compiled code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kvtrace.ir import Module
from kvtrace.ir.ptx_places import without_inner_places
from kvtrace.recorded_calls.compiled_barriers import CompiledBarriers, instructions
from kvtrace.recorded_calls.compiled_layouts import cta_splits, thread_layouts, trips_ahead
from kvtrace.recorded_calls.thread_layouts import BlockedLayout


@dataclass(frozen=True, slots=True)
class CompiledFacts:
    """Facts about a kernel from its TTGIR and PTX.

    `layouts` has the layouts of memory ops by op index. `barriers` is None without
    PTX, or if a program has several blocks of threads. `ahead` is the number of trips that a
    pipelined loop starts loads early, by op index. `splits` is the number of CTAs that lanes of
    memory ops are split among, by op index and axis, if a program's CTAs do not wait for each
    other.
    """

    layouts: Mapping[int, BlockedLayout]
    barriers: CompiledBarriers | None
    ahead: Mapping[int, int]
    splits: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def fused_places(ptx: str, triton: str | None) -> dict[tuple[int, int], bool]:
    """Return, by line and column, whether float sums in PTX are fused, where all are alike."""
    kinds: dict[tuple[int, int], set[bool]] = {}
    for place, _, name, _ in instructions(without_inner_places(ptx), triton):
        kind, _, types = name.partition(".")
        if kind in ("fma", "add", "sub") and re.search(r"\bb?f\d", types):
            kinds.setdefault(place, set()).add(kind == "fma")
    return {place: fused.pop() for place, fused in kinds.items() if len(fused) == 1}


def compiled_code(
    module: Module,
    ttgir: str | None,
    ptx: str | None,
    num_ctas: int | None = None,
    *,
    triton: str | None,
) -> CompiledFacts | None:
    """Return thread layouts, barriers, trips ahead and splits of compiled code; None without TTGIR.

    Each program has `num_ctas` CTAs.

    `triton` is the version that wrote the locations in the code.
    """
    if ttgir is None:
        return None
    has_one_cta = ptx is not None and num_ctas in (None, 1)
    code = without_inner_places(ptx or "")
    barriers = CompiledBarriers(module, code, triton) if has_one_cta else None
    layouts = thread_layouts(module, ttgir, code, triton=triton)
    splits = {} if has_one_cta or ptx is None else cta_splits(module, ttgir, code, triton=triton)
    return CompiledFacts(layouts, barriers, trips_ahead(module, ttgir, triton=triton), splits)
