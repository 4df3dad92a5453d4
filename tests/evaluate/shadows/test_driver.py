"""A shadow without rules of its own, carried by the driver: narrow floats before any rounding."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.compiler import TYPED
from kvtrace.evaluate.dialects.tt_reduce import along
from kvtrace.evaluate.registry import ELEMENTWISE
from kvtrace.evaluate.shadows.driver import Shadows, on_actual
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import ShadowedValue, actual, full_array, to_array
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import effect_of
from tests.kernels.launching import bind, compile_for

BLOCK, WIDTH = 8, 4


class Unrounded(ShadowedValue, frozen=True):
    """A value whose shadow is the number in float64, before any rounding."""

    @classmethod
    def shadow_of(cls, value: Any, type_: Any) -> np.ndarray:
        if isinstance(value, Unrounded):
            return value.shadow
        return to_array(value, type_).astype(np.float64)

    @classmethod
    def joined(cls, value: Any, shadow: np.ndarray, given: Sequence[Any]) -> Any:
        return cls(value, shadow)


class RecordingShadows(Shadows):
    """An instrument that records stored values with shadows, and deciding values."""

    kind = Unrounded

    def __init__(self, module, *, enters: bool = False):
        self.enters_reductions = enters
        super().__init__(module)
        self.stored, self.decisions = [], []

    def decided(self, op, value, held, scope):
        self.decisions.append((op.name, isinstance(held, Unrounded)))

    def access(self, op, step):
        run = on_actual(op, step)

        def accessed(values, scope):
            if effect_of(op) == "store":
                value = op.operand("value")
                type_ = value_type(value.type)
                shadow = Unrounded.shadow_of(values[value.id], type_)
                shape = (scope.programs, *type_.shape)
                number = full_array(actual(values[value.id]), type_)
                self.stored.append([np.broadcast_to(each, shape) for each in (number, shadow)])
            run(values, scope)

        return accessed

    def combination(self, op, step):
        (source,), result = op.group("source"), op.results[0].id
        type_ = value_type(source.type)
        run = on_actual(op, step)

        def combined(values, scope):
            if self.enters_reductions:
                step(values, scope)
                return
            given = run(values, scope)
            shadow = np.broadcast_to(Unrounded.shadow_of(given[0], type_), (1, *type_.shape))
            values[result] = Unrounded(values[result], along(op, np.add, shadow))

        return combined

    def computation(self, op, step):
        meaning = ELEMENTWISE.get(op.name)
        types = [value_type(value.type) for value in op.operands]
        if meaning is None or any(type_.element.kind != "f" for type_ in types):
            return step
        extra = [attribute(op, name) for name in meaning.attributes]
        result = op.results[0].id
        run = on_actual(op, step)

        def computed(values, scope):
            given = run(values, scope)
            wide = [Unrounded.shadow_of(each, t) for each, t in zip(given, types, strict=True)]
            shadow = wide[0] if op.name in TYPED else meaning.function(*extra, *wide)
            values[result] = Unrounded(values[result], shadow)

        return computed


@triton.jit
def looping(x, out, turns, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    given = tl.load(x + lanes)
    total = given
    for turn in range(turns + tl.program_id(0)):
        if turn % 2 == tl.program_id(0) % 2:
            total *= given
        else:
            total += given
    tl.store(out + lanes, total)


@triton.jit
def summed(x, out, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, 2 * WIDTH)
    third = tl.load(x + rows) / 3
    tile = tl.broadcast_to(third[:, None], (BLOCK, WIDTH))
    tile = tl.reshape(tile, (BLOCK // 2, 2 * WIDTH))
    tl.store(out + columns, tl.sum(tile, axis=0))


@triton.jit
def deciding(x, out, limit: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    given = tl.load(x + lanes)
    large = tl.sum(given / 3, axis=0) > limit
    if large:
        given *= given
    given += 1
    if large:
        given *= given
    tl.store(out + lanes, given)


@triton.jit
def _combined(a, b):
    return a * 1.5 + b


@triton.jit
def prefixes(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.associative_scan(tl.load(x + lanes) / 3, 0, _combined, reverse=True))


def recorded(kernel, x, count, constexprs, *, grid=1, enters=False, **scalars):
    """Return the stored numbers, their shadows, and the deciding values."""
    outs = []
    for under in (False, True):
        given = {"x": torch.from_numpy(x.copy()), "out": torch.zeros(count, dtype=torch.float16)}
        given |= scalars
        module = compile_for(kernel, given, constexprs)
        following = RecordingShadows(module, enters=enters) if under else None
        evaluate(module, bind(kernel, given), (grid,), instrument=following)
        outs.append(given["out"].numpy())
    np.testing.assert_array_equal(*outs)
    ((stored, shadow),) = following.stored
    np.testing.assert_array_equal(stored.reshape(-1), outs[0])
    return stored, shadow, following.decisions


X = np.linspace(0.5, 1.5, 2 * BLOCK).astype(np.float16)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_loops_and_branches_that_programs_take_differently_carry_shadows(turns):
    stored, shadow, decisions = recorded(
        looping, X, 2 * BLOCK, {"BLOCK": BLOCK}, grid=2, turns=turns
    )
    meant = X.astype(np.float64).reshape(2, BLOCK)
    given = meant.copy()
    for program in range(2):
        for turn in range(turns + program):
            same = turn % 2 == program % 2
            meant[program] = meant[program] * given[program] if same else (
                meant[program] + given[program]
            )  # fmt: skip

    np.testing.assert_array_equal(shadow, meant)
    assert turns < 2 or (stored != shadow).any()
    assert {name for name, _ in decisions} >= {"scf.for"}
    assert not any(has for _, has in decisions)


def test_ops_that_move_elements_run_again_on_shadows():
    stored, shadow, _ = recorded(summed, X, 2 * WIDTH, {"BLOCK": BLOCK, "WIDTH": WIDTH})
    tile = np.repeat(X[:BLOCK].astype(np.float64) / 3, WIDTH).reshape(-1, 2 * WIDTH)

    np.testing.assert_allclose(shadow[0], tile.sum(axis=0), rtol=1e-15)
    assert (stored != shadow).any()


@pytest.mark.parametrize("limit", [0, 100])
def test_deciding_values_are_inspected_and_used_without_their_shadow(limit):
    stored, shadow, decisions = recorded(deciding, X, BLOCK, {"limit": limit, "BLOCK": BLOCK})
    given = X[:BLOCK].astype(np.float64)

    assert decisions == [("scf.if", True)] * 2
    np.testing.assert_array_equal(shadow[0], (given**2 + 1) ** 2 if limit == 0 else given + 1)
    assert limit or (stored != shadow).any()


def test_a_region_of_several_ops_is_run_on_shadows_where_an_instrument_enters_it():
    stored, shadow, _ = recorded(prefixes, X, BLOCK, {"BLOCK": BLOCK}, enters=True)
    assert (stored != shadow).any()

    # In passes, as the evaluator combines: the op is not associative.
    meant, distance = (X[:BLOCK].astype(np.float64) / 3)[::-1].copy(), 1
    while distance < BLOCK:
        meant[distance:] = meant[:-distance] * 1.5 + meant[distance:]
        distance *= 2
    np.testing.assert_allclose(shadow[0], meant[::-1], rtol=1e-12)
