"""Random numbers of engines: XORWOW (Marsaglia 2003), a generator or more a partition.

A state of six words is one generator's; the vector engine's 24 words are four that take turns.
Which numbers a device draws from a seed is not published: ours are the same in every run, and no
more is promised.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.targets import PARTITIONS

#: Words of a generator's state, of which the last is its counter; and of an engine's (reference of
#: `nki.isa.rand_set_state`).
_WORDS: Final = 6
STATE_WORDS: Final = {"gpsimd": 6, "vector": 24}
_STEP: Final = np.uint32(362437)

State = NDArray[np.uint32]


def _seeded(seed: int, words: int) -> State:
    """Return states of all partitions that follow from a number."""
    return np.random.default_rng(seed).integers(1, 1 << 32, (PARTITIONS, words), np.uint32)


def _state(issue: Issue) -> State:
    """Return the state of the engine that the instruction runs on, of the running program."""
    run = issue.run
    engine = issue.engine if issue.engine in STATE_WORDS else "vector"
    key = (run.program, engine)
    if key not in run.random_states:
        run.random_states[key] = _seeded(0, STATE_WORDS[engine])
    state: State = run.random_states[key]
    return state


def _drawn(state: State, partitions: int, count: int) -> NDArray[np.uint32]:
    """Draw 32 bits for each element of some partitions, and move their states on."""
    values = np.empty((partitions, count), np.uint32)
    generators = state.shape[1] // _WORDS
    for place in range(count):
        first = place % generators * _WORDS
        words = state[:partitions, first : first + _WORDS]
        mixed = words[:, 0] ^ (words[:, 0] >> np.uint32(2))
        last = words[:, 4].copy()
        words[:, 0:4] = words[:, 1:5]
        words[:, 4] = last ^ (last << np.uint32(4)) ^ mixed ^ (mixed << np.uint32(1))
        words[:, 5] += _STEP
        values[:, place] = words[:, 4] + words[:, 5]
    return values


@operation("nisa.rng", engine="vector", kind="other")
def rng(issue: Issue, engine: Any = None) -> Result:
    """Draw 32 random bits an element, of which the type keeps the lowest."""
    issue.runs_on(engine)
    destination = issue.destination
    assert destination is not None
    if destination.dtype.kind not in "iu":
        raise NkiError(f"nisa.rng draws integers, dst is {destination.dtype}")
    partitions = destination.shape[0]
    bits = _drawn(_state(issue), partitions, destination.size // partitions)
    width = np.dtype(f"u{destination.itemsize}")
    values = bits.astype(width).view(destination.dtype)
    return issue.result(values, destination.dtype)


@operation("nisa.rand2", engine="vector", kind="other")
def rand2(issue: Issue, min: Any, max: Any) -> Result:  # noqa: A002 - the public names
    """Draw numbers between two numbers, or columns, evenly."""
    destination = issue.destination
    assert destination is not None
    shape = (destination.shape[0], destination.size // destination.shape[0])
    low, high = (column(issue, bound, shape) for bound in (min, max))
    share = _drawn(_state(issue), *shape).astype(np.float64) / (1 << 32)
    least = low.computed()
    values = (least + share * (high.computed() - least)).astype(np.float32)
    return issue.result(values, destination.dtype, low, high)


@operation("nisa.rand_set_state", engine="gpsimd", kind="other")
def rand_set_state(issue: Issue, src_seeds: Any, engine: Any = None) -> None:
    """Set an engine's states, a row of words a partition."""
    issue.runs_on(engine)
    read = issue.read(src_seeds)
    words = _words_of(issue, read.values.shape)
    _state(issue)[: read.values.shape[0]] = read.values.reshape(-1, words)


@operation("nisa.rand_get_state", engine="gpsimd", kind="other")
def rand_get_state(issue: Issue, engine: Any = None) -> Result:
    """Give an engine's states, a row of words a partition."""
    issue.runs_on(engine)
    destination = issue.destination
    assert destination is not None
    _words_of(issue, destination.shape)
    return issue.result(_state(issue)[: destination.shape[0]].copy(), destination.dtype)


def _words_of(issue: Issue, shape: tuple[int, ...]) -> int:
    """Return the words of the engine's state.

    Raises:
        NkiError: a tile has another number a partition.
    """
    engine = issue.engine if issue.engine in STATE_WORDS else "vector"
    words = STATE_WORDS[engine]
    given = int(np.prod(shape[1:]))
    if given != words:
        raise NkiError(f"a state of {engine} has {words} words a partition, not {given}")
    return words


@operation("nisa.set_rng_seed", engine="vector", kind="other")
def set_rng_seed(issue: Issue, src_seeds: Any) -> None:
    """Begin the vector engine's numbers again from a seed."""
    read = issue.read(src_seeds)
    if read.values.size != 1:
        raise NkiError(f"set_rng_seed takes one number, not {read.values.shape}")
    bits = np.ascontiguousarray(read.values).view(np.dtype(f"u{read.values.itemsize}"))
    seed = int(bits.reshape(-1)[0])
    issue.run.random_states[issue.run.program, "vector"] = _seeded(seed, STATE_WORDS["vector"])
