"""Trees of functions, and their comparison in the finite field by laws of real numbers."""

import struct

from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.symbolic.terms import as_term
from kvtrace.symbolic.trees.tree import Tree, tree

_SEEDS = 10
_CODES = {"ogt": 2, "oge": 3, "olt": 4, "ole": 5, "ugt": 9}
_EXTREMES = {"max": "arith.maxnumf", "min": "arith.minnumf", "max or NaN": "arith.maximumf"}


def element(number: int) -> Tree:
    """Return the tree of an element of memory, which may be negative."""
    return tree("element", ("x", as_term(4 * number), "f32", ""))


X, Y = element(1), element(2)


def number(value: float) -> Tree:
    """Return the tree of a float32 constant."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return tree("constant", ("f32", (bits,)))


def op(name: str, *parts: Tree) -> Tree:
    """Return the tree of an op on floats."""
    return tree("op", (name, (), "f32", 0), parts)


def exp(of: Tree) -> Tree:
    """Return the tree of an exponential."""
    return op("math.exp", of)


def log(of: Tree) -> Tree:
    """Return the tree of a logarithm."""
    return op("math.log", of)


def library(symbol: str, of: Tree) -> Tree:
    """Return the tree of a call of a library's function."""
    detail = ("tt.extern_elementwise", (("symbol", f"value='{symbol}'"),), "f32", 0)
    return tree("op", detail, (of,))


def plus(one: Tree, other: Tree) -> Tree:
    """Return the tree of a sum."""
    return op("arith.addf", one, other)


def minus(one: Tree, other: Tree) -> Tree:
    """Return the tree of a difference."""
    return op("arith.subf", one, other)


def times(one: Tree, other: Tree) -> Tree:
    """Return the tree of a product."""
    return op("arith.mulf", one, other)


def over(one: Tree, other: Tree) -> Tree:
    """Return the tree of a quotient."""
    return op("arith.divf", one, other)


def extreme(which: str, one: Tree, other: Tree) -> Tree:
    """Return the tree of a maximum or minimum."""
    return op(_EXTREMES[which], one, other)


def where(predicate: str, compared: tuple[Tree, Tree], one: Tree, other: Tree) -> Tree:
    """Return the tree of a choice by a comparison."""
    detail = ("arith.cmpf", (("predicate", f"value={_CODES[predicate]}, {predicate}"),), "i1", 0)
    return tree("op", ("arith.select", (), "f32", 0), (tree("op", detail, compared), one, other))


def are_equal(one: Tree, other: Tree) -> bool:
    """Return whether two trees have equal numbers for all random contents of memory."""
    return all(
        evaluator.values(one, {}) == evaluator.values(other, {})
        for evaluator in (FieldEvaluator(seed, "functions") for seed in range(_SEEDS))
    )
