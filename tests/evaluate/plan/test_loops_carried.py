"""Shapes of carried registers.

First taken to be full, with the same plans as grown step by step.
"""

import re

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.plan import loops
from kvtrace.evaluate.plan.planning import executables, planned_launch
from kvtrace.evaluate.plan.steps import PlanCompiler
from tests.kernels.launching import bind, compile_for


@triton.jit
def over_everything(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def over_one_axis(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + row * n + start + tl.arange(0, BLOCK))
    place = (tl.program_id(1) * tl.num_programs(0) + row) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, total)


@triton.jit
def over_nothing(x, out, n, BLOCK: tl.constexpr):
    factor = tl.full([BLOCK], 1.5, tl.float32)
    for _ in range(0, n, BLOCK):
        factor = factor * factor - 0.5
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.load(x + place) * factor)


@triton.jit
def only_by_itself(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.zeros([BLOCK], tl.float32)
    second = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        second = second + first
        first = first + tl.sum(tl.load(x + start + lanes), 0)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, second)


@triton.jit
def under_a_mask(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full([BLOCK], -1.0e9, tl.float32)
    for start in range(0, n - 3, BLOCK):
        place = start + tl.arange(0, BLOCK)
        largest = tl.maximum(largest, tl.load(x + row * n + place, mask=place < n - 3, other=-1e9))
    tl.store(out + row, tl.max(largest, 0))


KERNELS = (over_everything, over_one_axis, over_nothing, only_by_itself, under_a_mask)


def planned(kernel):
    """Return the code of a kernel's plan, with registers and trips numbered in their order."""
    arguments = {"x": torch.ones(12, 64), "out": torch.zeros(12 * 16), "n": 64}
    module = compile_for(kernel, arguments, {"BLOCK": 16})
    grid = (4, 3, 1) if kernel is over_one_axis else (12, 1, 1)
    plan = planned_launch(PlanCompiler(module), tuple(bind(kernel, arguments)), grid)
    assert plan.refusal is None
    result = []
    for part in executables(plan):
        names = {}
        text = re.sub(
            r"\b[rt]\d+\b", lambda m, names=names: names.setdefault(m[0], f"n{len(names)}"),
            part.code.source,
        )  # fmt: skip
        numbers = [v for k, v in part.code.run.__globals__.items() if re.fullmatch(r"i\d+", k)]
        result.append((text, numbers, part.code.cells, part.chunks))
    return result


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.fn.__name__)
def test_the_plan_equals_the_one_grown_from_initial_shapes(kernel, monkeypatch):
    guessed = planned(kernel)
    monkeypatch.setattr(loops, "lead_to_shapes", lambda *_: False)
    assert planned(kernel) == guessed


def test_full_shapes_are_used_only_if_the_body_leads_to_them(monkeypatch):
    answers = []

    def asked(*given, real=loops.lead_to_shapes):
        answers.append(real(*given))
        return answers[-1]

    monkeypatch.setattr(loops, "lead_to_shapes", asked)
    answers_by_kernel = {}
    for kernel in KERNELS:
        answers.clear()
        planned(kernel)
        answers_by_kernel[kernel.fn.__name__] = answers[0]

    assert answers_by_kernel == {
        "over_everything": True,
        "over_one_axis": False,
        "over_nothing": False,
        "only_by_itself": False,
        "under_a_mask": True,  # its trips but the last are not masked
    }
