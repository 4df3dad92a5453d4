"""Random programs of masked loads, ops, partial writes and reductions against a plain model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.launching import Kernel, bound_arguments, execute
from tests.support.thorough import usually

ROWS, COLUMNS, LENGTH = 4, 6, 10
SOURCE = np.arange(1, LENGTH * COLUMNS + 1, dtype=np.float32).reshape(LENGTH, COLUMNS)


@dataclass
class Model:
    """The values of a tile, and which of them are defined."""

    values: Any
    defined: Any


STEPS = st.one_of(
    st.tuples(
        st.just("load"), st.integers(0, 8), st.integers(0, LENGTH + 4), st.integers(0, COLUMNS)
    ),
    st.tuples(st.just("add"), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("scale"), st.integers(0, 9), st.sampled_from([0.5, 2.0, -1.0])),
    st.tuples(st.just("sum"), st.integers(0, 9), st.integers(1, COLUMNS)),
    st.tuples(st.just("patch"), st.integers(0, 9), st.integers(0, 9), st.integers(0, COLUMNS)),
    st.tuples(st.just("where"), st.integers(0, 9), st.integers(0, 9)),
)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=8)


def modeled(program: list[Any], inside: int) -> tuple[Any, Any, int]:
    """Return values, which of them are defined, and the number of lanes loaded out of bounds."""
    tiles = [Model(np.ones((ROWS, COLUMNS), np.float32), np.ones((ROWS, COLUMNS), bool))]
    rows, columns = np.mgrid[0:ROWS, 0:COLUMNS]
    outside = 0
    for kind, *facts in program:
        first = tiles[facts[0] % len(tiles)]
        if kind == "load":
            start, last, wide = facts
            active = (start + rows < last) & (columns < wide)
            in_bounds = start + rows < LENGTH
            outside += int((active & ~in_bounds).sum())
            loaded = SOURCE[np.minimum(start + rows, LENGTH - 1), columns]
            tiles.append(Model(loaded, active & in_bounds))
        elif kind == "add":
            other = tiles[facts[1] % len(tiles)]
            tiles.append(Model(first.values + other.values, first.defined & other.defined))
        elif kind == "scale":
            tiles.append(Model(first.values * facts[1], first.defined))
        elif kind == "sum":
            selected = columns < facts[1]
            total = np.where(selected, first.values, 0).sum(axis=1, keepdims=True)
            sound = (first.defined | ~selected).all(axis=1, keepdims=True)
            shape = (ROWS, COLUMNS)
            tiles.append(Model(np.broadcast_to(total, shape), np.broadcast_to(sound, shape)))
        elif kind == "patch":
            other = tiles[facts[1] % len(tiles)]
            part = columns < facts[2]
            tiles.append(
                Model(
                    np.where(part, other.values, first.values),
                    np.where(part, other.defined, first.defined),
                )
            )
        else:
            other = tiles[facts[1] % len(tiles)]
            chosen = first.values > other.values
            tiles.append(
                Model(
                    np.where(chosen, first.values, other.values),
                    first.defined & other.defined,
                )
            )
    stored = rows < inside
    return tiles[-1].values, tiles[-1].defined & stored, outside


def kernel_of(program: list[Any], inside: int) -> Any:
    """Give the same program as a kernel."""

    def kernel(source: Any) -> Any:
        out = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.shared_hbm)
        p, f = nl.mgrid[0:ROWS, 0:COLUMNS]
        tiles = [nl.ones((nl.par_dim(ROWS), COLUMNS), dtype=nl.float32)]
        for kind, *facts in program:
            first = tiles[facts[0] % len(tiles)]
            if kind == "load":
                start, last, wide = facts
                mask = (start + p < last) & (f < wide)
                tiles.append(nl.load(source[start + p, f], mask=mask))
            elif kind == "add":
                tiles.append(first + tiles[facts[1] % len(tiles)])
            elif kind == "scale":
                tiles.append(nl.multiply(first, facts[1]))
            elif kind == "sum":
                total = nl.sum(first[p, f], axis=1, mask=f < facts[1])
                tiles.append(nl.copy(total.broadcast_to((ROWS, COLUMNS))))
            elif kind == "patch":
                result = nl.copy(first)
                if facts[2]:
                    result[0:ROWS, 0 : facts[2]] = tiles[facts[1] % len(tiles)][:, 0 : facts[2]]
                tiles.append(result)
            else:
                other = tiles[facts[1] % len(tiles)]
                tiles.append(nl.where(first > other, first, other))
        nl.store(out[p, f], value=tiles[-1], mask=p < inside)
        return out

    return kernel


@settings(max_examples=usually(30, thorough=120), deadline=None)
@given(program=PROGRAMS, inside=st.integers(1, ROWS))
def test_random_accesses_have_the_values_and_bounds_of_a_numpy_model(
    program: list[Any], inside: int
) -> None:
    function = kernel_of(program, inside)
    outcome = execute(Kernel(function, "older"), (), bound_arguments(function, (SOURCE,), {}))
    values, defined, outside = modeled(program, inside)

    assert np.allclose(outcome.result[defined], values[defined], rtol=1e-5)
    lanes = {finding.rule: 0 for finding in outcome.recorder.findings}
    for finding in outcome.recorder.findings:
        lanes[finding.rule] += finding.lanes
    lanes.pop("unwritten-result", None)
    assert lanes == ({"out-of-bounds": outside} if outside else {})
