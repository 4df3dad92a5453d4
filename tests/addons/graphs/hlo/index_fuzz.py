"""Random indices that are read, assigned to and added to in a graph, each against NumPy.

By hand, longer than in the tests: `python -m tests.addons.graphs.hlo.index_fuzz --count 20000
--seed 7`. It prints each case in which the graph gives other values than NumPy, takes what NumPy
refuses, or ends in something else than a `GraphError`; what was found is kept in the tests of
indexing.
"""

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.errors import GraphError

#: What is no defect: as NumPy's, refused by both, refused by graphs alone, and a traced position
#: outside its axis, which is known only when the graph runs.
SOUND = ("right", "refused by both", "refused", "outside when run")
USES = ("read", "assign", "add")


class _Traced:
    """Where an index has an argument of the program instead of a constant."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __repr__(self) -> str:
        return f"arrays[{self.place}]"


@dataclass
class Case:
    """An index into an array of a shape, and what is done with it."""

    shape: tuple[int, ...]
    parts: tuple[Any, ...]
    arrays: list[Any]
    use: str

    def index(self, arrays: Any) -> Any:
        """Give the index, with arguments where it has such."""
        return tuple(arrays[p.place] if isinstance(p, _Traced) else p for p in self.parts)

    def source(self) -> Any:
        """Give the array, whose elements tell their places."""
        return np.arange(int(np.prod(self.shape)), dtype=np.float32).reshape(self.shape)


def case(rng: random.Random) -> Case:
    """Give a random case: about one in six is out of range, or has too many parts."""
    shape = tuple(rng.choice((0, 1, 2, 3, 3, 4, 5)) for _ in range(rng.randint(0, 4)))
    broadcast = rng.choice([(), (1,), (2,), (3,), (2, 1), (2, 3), (1, 3), (0,)])
    arrays: list[Any] = []
    parts: list[Any] = []
    extents_left = list(shape)
    for _ in range(rng.randint(0, len(shape))):
        extent = extents_left.pop(0)
        parts.append(_part(rng, extent, broadcast, arrays))
    if rng.random() < 0.4:
        # Parts before keep their axes; those after an Ellipsis count from the end.
        place = rng.randint(0, len(parts))
        parts.insert(place, ...)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        parts.insert(rng.randint(0, len(parts)), None)
    if rng.random() < 0.04:
        parts.append(0)
    return Case(shape, tuple(parts), arrays, rng.choice(USES))


def _part(rng: random.Random, extent: int, broadcast: tuple[int, ...], arrays: list[Any]) -> Any:
    kind = rng.random()
    if kind < 0.25:
        beyond = 1 if rng.random() < 0.05 else 0
        return rng.randint(-extent - beyond, max(extent - 1 + beyond, -extent))
    if kind < 0.6:
        ends = [rng.choice((None, rng.randint(-extent - 2, extent + 2))) for _ in range(2)]
        return slice(*ends, rng.choice((None, None, 1, 2, -1, -2, 3)))
    shape = broadcast if rng.random() < 0.8 else broadcast[1:]
    # An Ellipsis may move a part to an axis that is shorter: those are out of range as well.
    values = [rng.randint(-extent, extent - 1) if extent else 0 for _ in range(int(np.prod(shape)))]
    array = np.array(values, dtype=rng.choice((np.int32, np.int64))).reshape(shape)
    if rng.random() < 0.5:
        return array
    arrays.append(array)
    return _Traced(len(arrays) - 1)


def outcome(tested_case: Case) -> str:
    """Run a case by NumPy and as a graph, and say how they compare."""
    try:
        expected, value = _by_numpy(tested_case)
        refused = None
    except (IndexError, ValueError) as error:
        expected, value, refused = None, np.float32(0), type(error)
    traced = any(isinstance(part, _Traced) for part in tested_case.parts)

    def program(x: Any, *arrays: Any) -> Any:
        index = tested_case.index(arrays)
        if tested_case.use == "read":
            return x[index] * 1
        if tested_case.use == "assign":
            x[index] = value
        else:
            x[index] += 2
        return x * 1

    x = tested_case.source()
    arguments = (x, *tested_case.arrays)
    try:
        graph = trace(program).specialize(*arguments)
        result = graph.evaluate(*[argument.copy() for argument in arguments])[0]
    except GraphError as error:
        if refused is None:
            return "refused"
        return (
            "refused by both" if isinstance(error, refused) else f"no {refused.__name__}: {error}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if expected is None:
        return "outside when run" if traced else "taken, which NumPy refuses"
    if result.shape != expected.shape or not np.array_equal(result, expected):
        return f"wrong: {result.shape} for {expected.shape}"
    return "right"


def _by_numpy(tested_case: Case) -> tuple[Any, Any]:
    """Give NumPy's result, and the value that is assigned.

    That is one number where an element is written twice: which of two stays is not said.
    """
    x = tested_case.source()
    index = tested_case.index(tested_case.arrays)
    places = x[index]
    value: Any = np.float32(-7)
    if np.unique(places).size == np.size(places):
        value = -np.arange(1, np.size(places) + 1, dtype=np.float32).reshape(np.shape(places))
    if tested_case.use == "read":
        return np.asarray(places * 1), value
    if tested_case.use == "assign":
        x[index] = value
    else:
        x[index] += 2
    return x, value


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[tuple[Case, str]]]:
    """Give how many cases ended how, and those that are defects."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    differences = []
    for _ in range(count):
        tested_case = case(rng)
        ended = outcome(tested_case)
        counts[ended if ended in SOUND else "defect"] += 1
        if ended not in SOUND:
            differences.append((tested_case, ended))
    return counts, differences


def main() -> int:
    """Fuzz as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    counts, differences = fuzz(options.count, options.seed)
    for tested_case, ended in differences:
        print(f"{ended}\n    {tested_case}")
    print(f"seed {options.seed}, {options.count:,} indices:", dict(counts))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
