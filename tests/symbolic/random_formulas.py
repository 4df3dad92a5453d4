"""Random terms and conditions over three symbols with small ranges, and all their points."""

import itertools

from hypothesis import strategies as st

from kvtrace.symbolic.bits import bitwise, wrapped
from kvtrace.symbolic.conditions import at_least, equal, less
from kvtrace.symbolic.functions import choice, maximum, minimum, quotient, remainder
from kvtrace.symbolic.terms import Symbol, as_term

LANE = Symbol("lane", 0, 0, 5)
PROGRAM = Symbol("program", 0, 0, 2**31 - 2)
SCALAR = Symbol("scalar", 0, -(2**31), 2**31 - 1)
SYMBOLS = (LANE, PROGRAM, SCALAR)
KNOWN = {("program", 0): (0, 4), ("scalar", 0): (-3, 4)}
"""What is known of the symbols' ranges: the program's and the scalar's are narrowed."""

POINTS = [
    dict(zip(SYMBOLS, values, strict=True))
    for values in itertools.product(range(6), range(5), range(-3, 5))
]


def terms():
    leaves = st.one_of(
        st.integers(-9, 9).map(as_term), st.sampled_from([symbol.term for symbol in SYMBOLS])
    )
    return st.recursive(leaves, _combined, max_leaves=6)


def _combined(inner):
    number = st.integers(-4, 9)
    pair = st.tuples(inner, inner)
    by_number = st.tuples(inner, number)
    flags = st.booleans()
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        by_number.map(lambda p: p[0] * p[1]),
        st.tuples(by_number, flags).map(lambda p: quotient(*p[0], floor=p[1])),
        st.tuples(by_number, flags).map(lambda p: remainder(*p[0], floor=p[1])),
        st.tuples(pair, flags).map(lambda p: quotient(*p[0], floor=p[1])),
        st.tuples(pair, flags).map(lambda p: remainder(*p[0], floor=p[1])),
        pair.map(lambda p: minimum(*p)),
        pair.map(lambda p: maximum(*p)),
        st.tuples(_simple(inner), inner, inner).map(lambda p: choice(*p)),
        st.tuples(inner, st.integers(2, 5), flags).map(lambda p: wrapped(p[0], p[1], signed=p[2])),
        st.tuples(st.sampled_from(["and", "or", "xor"]), pair).map(
            lambda p: bitwise(p[0], wrapped(p[1][0], 8, signed=True), p[1][1], 32)
        ),
        st.tuples(st.sampled_from(["shl", "shr"]), inner, st.integers(0, 3)).map(
            lambda p: bitwise(p[0], p[1], p[2], 32)
        ),
    )


def _simple(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: less(*p)),
        pair.map(lambda p: at_least(*p)),
        pair.map(lambda p: equal(*p)),
    )


def conditions():
    return st.recursive(
        _simple(terms()),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] & p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] | p[1]),
            inner.map(lambda c: ~c),
        ),
        max_leaves=3,
    )
