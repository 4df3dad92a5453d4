"""Calls of kernels for the tests of races: judged, and looked at byte by byte."""

from collections import defaultdict
from itertools import combinations_with_replacement
from math import prod

import numpy as np
import torch

from kvtrace.evaluate import TensorArgument
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.race import judge
from kvtrace.verdicts.judge import judge as judge_call
from kvtrace.verdicts.replaying import read_only_arguments
from tests.kernels.launching import bind, compile_for
from tests.verdicts.brute_force import watched_run


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


def clashes(call):
    """All pairs of ops (by index) that two programs do at one byte, one of them writing.

    By sets of (byte, program), which shares nothing with the sweep but the evaluator. Also whether
    all accesses are known.
    """
    seen = watched_run(call.module, read_only_arguments(call.arguments), call.grid)
    parts = roles_of(call.module).by_op
    programs = int(np.prod(call.grid))
    touched = defaultdict(lambda: defaultdict(list))
    for part in seen.touched:
        tensor, width = call.arguments[part.argument], part.size
        starts = part.offsets + tensor.offset_bytes
        inside = (starts >= 0) & (starts + width <= tensor.storage.nbytes)
        bytes_ = (starts[inside, None] + np.arange(width)).reshape(-1)
        pairs = bytes_ * programs + np.repeat(part.programs[inside], width)
        touched[tensor.storage][part.op.index, width].append(pairs)
    found = set()
    for by_op in touched.values():
        sets = {key: np.unique(np.concatenate(pairs)) for key, pairs in by_op.items()}
        for one, other in combinations_with_replacement(sets, 2):
            if parts[one[0]].clashes(parts[other[0]], one_width=one[1] == other[1]) and _meet(
                sets[one], sets[other], programs
            ):
                found.add((min(one[0], other[0]), max(one[0], other[0])))
    return found, not seen.unknown


def _meet(one, other, programs):
    """Return whether some byte is touched by both, and by two programs."""
    common = np.intersect1d(one // programs, other // programs)
    byte, count = np.unique(np.union1d(one, other) // programs, return_counts=True)
    return bool(np.intersect1d(common, byte[count > 1]).size)
