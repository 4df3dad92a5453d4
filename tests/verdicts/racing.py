"""Calls of kernels for the tests of races: judged, and looked at byte by byte."""

from collections import defaultdict
from itertools import combinations_with_replacement
from math import prod

import numpy as np
import torch

from kvtrace.evaluate import Observer, TensorArgument, evaluate
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.race import judge
from kvtrace.verdicts.judge import judge as judge_call
from kvtrace.verdicts.replaying import read_only_arguments
from tests.kernels.launching import bind, compile_for


def call_of(kernel, grid, arguments, constexprs=None, *, recorded=False):
    """A call as it comes from a trace; `recorded`: with what its tensors hold."""
    module = compile_for(kernel, arguments, constexprs or {})
    bound = bind(kernel, arguments, unknown=not recorded)
    names = tuple(a.name for a in bound if isinstance(a, TensorArgument)) if recorded else ()
    return Call(0, kernel.fn.__name__, (*grid, 1, 1)[:3], module, tuple(bound), names)


def on_formulas(call):
    """What the rule says without evaluating the grid."""
    return list(judge(BoundCall(call)))


def judged(call):
    """What the rule says in the end."""
    return judge_call(call, ["race"])


def verdicts(call):
    """The kinds of verdicts on a call."""
    return {v.verdict for v in judged(call)}


def races(call):
    """The races of a call."""
    return [v for v in judged(call) if v.verdict == "violation"]


def floats(*shape):
    """A tensor of floats in ascending order."""
    return torch.arange(prod(shape), dtype=torch.float32).reshape(shape)


def integers(*shape):
    """A tensor of zeros."""
    return torch.zeros(shape, dtype=torch.int32)


class _Everything(Observer):
    def __init__(self):
        self.elements = []
        self.all_known = True
        self.count = 0

    def access(self, access):
        if access.active == 0:
            return
        found = access.elements()
        if found is None or not access.certain:
            self.all_known = False
            return
        self.count += len(found[0])
        if self.count > 1 << 21:
            raise TooMany
        offsets, programs = (np.array(array, np.int64) for array in found)
        self.elements.append((access.op.index, access.argument, access.element_bytes,
                              offsets, programs))  # fmt: skip


class TooMany(Exception):
    """A call touches more than is worth listing."""


def clashes(call):
    """All pairs of ops (by index) that two programs do at one byte, one of them writing.

    By sets of (byte, program), which shares nothing with the sweep but the evaluator. Also whether
    all accesses are known.
    """
    seen = _Everything()
    arguments = read_only_arguments(call.arguments)
    evaluate(call.module, arguments, call.grid, observers=[seen])
    parts = roles_of(call.module).by_op
    programs = int(np.prod(call.grid))
    touched = defaultdict(lambda: defaultdict(list))
    for op, argument, width, offsets, who in seen.elements:
        tensor = call.arguments[argument]
        starts = offsets + tensor.offset_bytes
        inside = (starts >= 0) & (starts + width <= tensor.storage.nbytes)
        bytes_ = (starts[inside, None] + np.arange(width)).reshape(-1)
        pairs = bytes_ * programs + np.repeat(who[inside], width)
        touched[tensor.storage][op, width].append(pairs)
    found = set()
    for by_op in touched.values():
        sets = {key: np.unique(np.concatenate(pairs)) for key, pairs in by_op.items()}
        for one, other in combinations_with_replacement(sets, 2):
            if parts[one[0]].clashes(parts[other[0]], one_width=one[1] == other[1]) and _meet(
                sets[one], sets[other], programs
            ):
                found.add((min(one[0], other[0]), max(one[0], other[0])))
    return found, seen.all_known


def bytes_of(call, op, program):
    """The bytes of its storage that an op of one program touches."""
    x, y, z = program
    seen = _Everything()
    linear = x + call.grid[0] * (y + call.grid[1] * z)
    chosen = np.array([linear], np.int64)
    evaluate(call.module, call.arguments, call.grid, observers=[seen], programs=chosen)
    return {
        int(start) + call.arguments[argument].offset_bytes + byte
        for index, argument, width, offsets, _ in seen.elements
        if index == op.index
        for start in offsets
        for byte in range(width)
    }


def _meet(one, other, programs):
    """Return whether some byte is touched by both, and by two programs."""
    common = np.intersect1d(one // programs, other // programs)
    byte, count = np.unique(np.union1d(one, other) // programs, return_counts=True)
    return bool(np.intersect1d(common, byte[count > 1]).size)
