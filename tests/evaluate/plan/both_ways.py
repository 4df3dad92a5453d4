"""Launches evaluated by plan and by arrays, with the events of both."""

from collections import Counter
from dataclasses import replace

import numpy as np

from kvtrace.evaluate import Observer, Storage, TensorArgument, evaluate
from kvtrace.evaluate.plan import explain
from tests.kernels.launching import bind, compile_for


class Facts(Observer):
    """An observer that records all counts, and every element that is accessed."""

    def __init__(self):
        self.counts, self.ops, self.loops = Counter(), Counter(), Counter()
        self.elements, self.by_program, self.by_trip = Counter(), Counter(), Counter()
        self.defects = []

    def op(self, op, executions, elements, flops):
        self.ops.update(
            {
                (op.index, "executions"): executions,
                (op.index, "elements"): elements,
                (op.index, "flops"): flops,
            }
        )

    def access(self, access):
        site = (access.op.index, access.kind, access.argument)
        self.counts.update(
            {
                (*site, "executions"): access.executions,
                (*site, "lanes"): access.lanes,
                (*site, "active"): access.active,
            }
        )
        offsets, programs = access.elements()
        assert len(offsets) == access.active
        if access.active:
            assert (offsets.min(), offsets.max()) == (access.lowest, access.highest)
        pairs = Counter(
            (*site, *pair) for pair in zip(offsets.tolist(), programs.tolist(), strict=True)
        )
        self.elements.update(pairs)
        part = access.by_program()
        rows = (part.program, part.iteration, part.first, part.last, part.active)
        for program, iteration, first, last, active in zip(
            *(row.tolist() for row in rows), strict=True
        ):
            span = (first, last, active) if active else ()
            self.by_program[(*site, program, iteration, *span)] += 1
        if access.each_trip is None:
            self.by_trip.update(pairs)
            return
        for single in access.each_trip():
            self.by_trip.update((*site, *pair) for pair in elements_of_parts(single.parts))

    def out_of_bounds(self, defect):
        self.defects.append(defect)

    def loop(self, op, trips):
        self.loops.update((op.index, trip) for trip in trips.tolist())

    def summary(self):
        return {
            "counts": +self.counts,
            "ops": +self.ops,
            "loops": self.loops,
            "elements": self.elements,
            "by program": self.by_program,
        }


def elements_of_parts(parts):
    shape = (len(parts.programs), *parts.block)
    total = np.broadcast_to(sum(parts.terms, np.int64(parts.constant)), shape)
    active = np.ones(shape, np.bool_)
    for factor in parts.factors:
        active = active & factor
    owners = parts.programs.reshape((-1,) + (1,) * len(parts.block))
    owners = np.broadcast_to(owners, shape)
    return list(zip(total[active].tolist(), owners[active].tolist(), strict=True))


def with_copied_storages(arguments):
    copies = {}
    for argument in arguments:
        if isinstance(argument, TensorArgument) and argument.storage not in copies:
            storage = argument.storage
            data = None if storage.data is None else storage.data.copy()
            copies[storage] = Storage(storage.nbytes, data)
    return [
        replace(argument, storage=copies[argument.storage])
        if isinstance(argument, TensorArgument)
        else argument
        for argument in arguments
    ]


def reason(function, grid, arguments, constexprs=None, **options):
    """Return the reason why a launch is not planned, or "planned"."""
    module = compile_for(function, arguments, constexprs or {})
    return explain(module, bind(function, arguments, **options), grid)


def both_ways(function, grid, arguments, constexprs=None, **options):
    """Return arguments and facts after a planned run, and after one by arrays."""
    module = compile_for(function, arguments, constexprs or {})
    outcomes = []
    for planned in (True, False):
        given = with_copied_storages(bind(function, arguments, **options))
        facts = Facts()
        evaluate(module, given, grid, observers=(facts,), planned=planned)
        outcomes.append((given, facts))
    return outcomes


def values(argument):
    """Return the contents of an argument's storage, as floats or integers."""
    stored = argument.storage.data[argument.offset_bytes :].view(argument.element.memory)
    return stored if stored.dtype.kind in "iub" else stored.astype(np.float64)


ROUNDING = {"fp32": 2e-6, "fp16": 2e-3, "bf16": 1.6e-2}


def assert_same(function, grid, arguments, constexprs=None, rounding=None):
    """Assert that a plan and arrays give equal results within `rounding` units, and equal facts."""
    assert reason(function, grid, arguments, constexprs) == "planned"
    (planned, plan_facts), (arrays, array_facts) = both_ways(function, grid, arguments, constexprs)
    for ours, theirs in zip(planned, arrays, strict=True):
        if not hasattr(ours, "storage"):
            continue
        if rounding is None:
            assert np.array_equal(ours.storage.data, theirs.storage.data), ours.name
            continue
        near = rounding * ROUNDING.get(ours.dtype, 0)
        scale = np.abs(values(theirs)).max(initial=1.0)
        assert np.allclose(values(ours), values(theirs), rtol=0, atol=near * scale), ours.name
    for kind, expected in array_facts.summary().items():
        assert plan_facts.summary()[kind] == expected, kind
    assert plan_facts.by_trip == plan_facts.elements
    return plan_facts
