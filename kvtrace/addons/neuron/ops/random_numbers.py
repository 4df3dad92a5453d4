"""Random number generators of engines: XORWOW (Marsaglia 2003), one or four per partition.

A generator's state has six words: five that are shifted, the oldest `s` to the newest `v`, and a
counter: `t = s ^ s >> 2; new = v ^ v << 4 ^ t ^ t << 1; counter += 362437; result = new + counter`.
The vector engine has four generators per partition, 24 words, which take turns. The numbers that a
device draws from a seed are not published, so kvtrace's differ; they are equal in every run.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.targets import PARTITIONS

#: Words of a generator's state; the last word is the counter.
_WORDS: Final = 6
#: Words of an engine's state per partition (reference of `nki.isa.rand_set_state`).
STATE_WORDS: Final = {"gpsimd": 6, "vector": 24}
_STEP: Final = np.uint32(362437)

State = NDArray[np.uint32]


def _seeded_states(seed: int, words: int) -> State:
    return np.random.default_rng(seed).integers(1, 1 << 32, (PARTITIONS, words), np.uint32)


def _engine_state(issue: Issue) -> State:
    """Return the stored generators' states of the instruction's engine in this program."""
    run = issue.run
    engine = issue.engine if issue.engine in STATE_WORDS else "vector"
    state_key = (run.program, engine)
    if state_key not in run.random_states:
        run.random_states[state_key] = _seeded_states(0, STATE_WORDS[engine])
    state: State = run.random_states[state_key]
    return state


def _draw(state: State, partitions: int, count: int) -> NDArray[np.uint32]:
    """Return 32 random bits for each of `count` elements per partition; `state` is advanced."""
    values = np.empty((partitions, count), np.uint32)
    generators = state.shape[1] // _WORDS
    for index in range(count):
        first_word = index % generators * _WORDS
        words = state[:partitions, first_word : first_word + _WORDS]
        shifted = words[:, 0] ^ (words[:, 0] >> np.uint32(2))
        newest = words[:, 4].copy()
        words[:, 0:4] = words[:, 1:5]
        words[:, 4] = newest ^ (newest << np.uint32(4)) ^ shifted ^ (shifted << np.uint32(1))
        words[:, 5] += _STEP
        values[:, index] = words[:, 4] + words[:, 5]
    return values


@operation("nisa.rng", engine="vector", kind="other")
def rng(issue: Issue, engine: Any = None) -> Result:
    """Return random integers: the lowest bits of 32 random bits per element."""
    issue.choose_engine(engine)
    destination = issue.destination
    assert destination is not None
    if destination.dtype.kind not in "iu":
        raise NkiError(f"nisa.rng returns integers, but dst is {destination.dtype}")
    partitions = destination.shape[0]
    bits = _draw(_engine_state(issue), partitions, destination.size // partitions)
    unsigned_type = np.dtype(f"u{destination.itemsize}")
    values = bits.astype(unsigned_type).view(destination.dtype)
    return issue.result(values, destination.dtype)


@operation("nisa.rand2", engine="vector", kind="other")
def rand2(issue: Issue, min: Any, max: Any) -> Result:  # noqa: A002 - the public names
    """Return uniform random numbers between two bounds, each a number or a column."""
    destination = issue.destination
    assert destination is not None
    shape = (destination.shape[0], destination.size // destination.shape[0])
    low, high = (column(issue, bound, shape) for bound in (min, max))
    fraction = _draw(_engine_state(issue), *shape).astype(np.float64) / (1 << 32)
    lowest = low.computed()
    values = (lowest + fraction * (high.computed() - lowest)).astype(np.float32)
    return issue.result(values, destination.dtype, low, high)


@operation("nisa.rand_set_state", engine="gpsimd", kind="other")
def rand_set_state(issue: Issue, src_seeds: Any, engine: Any = None) -> None:
    """Set the states of an engine's generators from a tile, one row per partition."""
    issue.choose_engine(engine)
    source = issue.read(src_seeds)
    words = _state_words(issue, source.values.shape)
    _engine_state(issue)[: source.values.shape[0]] = source.values.reshape(-1, words)


@operation("nisa.rand_get_state", engine="gpsimd", kind="other")
def rand_get_state(issue: Issue, engine: Any = None) -> Result:
    """Return the states of an engine's generators, one row per partition."""
    issue.choose_engine(engine)
    destination = issue.destination
    assert destination is not None
    _state_words(issue, destination.shape)
    return issue.result(_engine_state(issue)[: destination.shape[0]].copy(), destination.dtype)


def _state_words(issue: Issue, shape: tuple[int, ...]) -> int:
    """Return the number of words per partition of the engine's state; a tile must have as many.

    Raises:
        NkiError: the tile has another number of words per partition.
    """
    engine = issue.engine if issue.engine in STATE_WORDS else "vector"
    words = STATE_WORDS[engine]
    tile_words = int(np.prod(shape[1:]))
    if tile_words != words:
        raise NkiError(f"a state of {engine} has {words} words per partition, not {tile_words}")
    return words


@operation("nisa.set_rng_seed", engine="vector", kind="other")
def set_rng_seed(issue: Issue, src_seeds: Any) -> None:
    """Restart the vector engine's random numbers from the seed in a tensor of one element."""
    source = issue.read(src_seeds)
    if source.values.size != 1:
        raise NkiError(f"set_rng_seed needs one number, not {source.values.shape}")
    bits = np.ascontiguousarray(source.values).view(np.dtype(f"u{source.values.itemsize}"))
    seed = int(bits.reshape(-1)[0])
    issue.run.random_states[issue.run.program, "vector"] = _seeded_states(
        seed, STATE_WORDS["vector"]
    )
