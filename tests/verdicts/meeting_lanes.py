"""Stores of which two lanes meet at one byte, seen in a run: what labels are compared with."""

from typing import Any

import numpy as np

from corpus.questions.defects import Sample
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, sum_of_terms, to_array
from kvtrace.ir import Op
from tests.verdicts.brute_force import with_contents


class Stores(Instrument):
    """Notes stores by pointers whose lanes meet.

    `meet` are those with two active lanes at one byte in one execution, `conflict` those of which
    some such lanes store different bytes, or have loaded them from where they store.
    """

    def __init__(self) -> None:
        super().__init__()
        self.looked: set[int] = set()
        self.meet: dict[int, Op] = {}
        self.conflict: dict[int, Op] = {}
        self._loaded: list[tuple[int | None, np.ndarray]] = []

    def wrapped(self, op: Op, step: Any) -> Any:
        if op.name not in ("tt.load", "tt.store") or not getattr(op.operands[0].type, "shape", ()):
            return step

        def looked(values: list[Any], scope: Any) -> None:
            if isinstance(values[op.operands[0].id], Pointer):
                self._look(op, values, scope)
            step(values, scope)

        return looked

    def _look(self, op: Op, values: list[Any], scope: Any) -> None:
        pointer = values[op.operands[0].id]
        data = op.results[0] if op.name == "tt.load" else op.operands[1]
        type_ = value_type(data.type)
        shape = (scope.programs, *type_.shape)
        places = np.broadcast_to(sum_of_terms(pointer.offset), shape)
        if op.name == "tt.load":
            self._loaded.append((pointer.argument, places))
            return
        self.looked.add(op.index)
        held = np.broadcast_to(to_array(values[data.id], type_), shape)
        active = np.ones(shape, np.bool_)
        if len(op.operands) > 2:
            mask = op.operands[2]
            active = np.broadcast_to(to_array(values[mask.id], value_type(mask.type)), shape)
        updates = any(
            argument == pointer.argument and each.shape == shape and (each == places).all()
            for argument, each in self._loaded
        )
        size = type_.element.bytes
        for program in range(scope.programs):
            on = active[program]
            starts, stored = places[program][on], held[program][on]
            order = np.argsort(starts, kind="stable")
            starts, stored = starts[order], stored[order]
            close = np.diff(starts) < size
            if close.any():
                self.meet[op.index] = op
                one, other = stored[:-1][close], stored[1:][close]
                nans = (one != one) & (other != other)
                if updates or ((one != other) & ~nans).any() or (np.diff(starts)[close] > 0).any():
                    self.conflict[op.index] = op


def stores_of(sample: Sample) -> Stores:
    """Run a sample on contents of many different numbers, and look at what its stores do."""
    arguments = with_contents(sample)
    rng = np.random.default_rng(1)
    for argument in arguments:
        given = sample.arguments[argument.name]
        if not isinstance(argument, TensorArgument) or argument.dtype not in ("fp32", "fp64"):
            continue
        if given.data is None and not given.shares:
            held = argument.storage.data
            numbers = rng.uniform(0.1, 2.0, len(held)).astype(argument.element.memory)
            size = len(held) // argument.element.bytes * argument.element.bytes
            held[:size] = numbers.view(np.uint8)[:size]
    stores = Stores()
    evaluate(sample.module(), arguments, sample.grid, instrument=stores)
    return stores
