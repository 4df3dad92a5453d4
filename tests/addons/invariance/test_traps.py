"""Kernels that are not what they seem: no row that varies is invariant, no other bits the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from benchmarks.invariance_traps.rows import ROWS, Rows
from benchmarks.invariance_traps.versions import VERSIONS, Versions, launched
from kvtrace.addons.invariance.over import answers_over
from kvtrace.addons.invariance.results import OutputResult, invariance_of
from kvtrace.addons.invariance.text import (
    invariance_lines,
    meaning_lines,
    meaning_objects,
    versions_text,
)
from kvtrace.addons.invariance.versions import OutputMeaning, same_meaning
from kvtrace.recorded_calls.recorded import Call, calls_of
from kvtrace.schema.trace import Selection
from tests.addons.invariance.inputs import tensor
from tests.support.tiers import some

Recorded = Callable[[Callable[[], object]], Selection]

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() and "KVTRACE_DEVICE" not in __import__("os").environ,
    reason="needs a device",
)


def trap(name: str) -> Rows:
    (found,) = (each for each in ROWS if each.name == name)
    return found


def judged(one: Rows, recorded: Recorded) -> OutputResult:
    runs = recorded(lambda: [one.launch(rows, rows // 2) for rows in one.sizes])
    (found,) = invariance_of(runs).outputs
    return found
