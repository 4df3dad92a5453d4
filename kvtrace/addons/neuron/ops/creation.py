"""Creation of tensors: allocated, filled, random, of access patterns, or constants."""

import os
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import dtypes
from kvtrace.addons.neuron.buffers import Buffer, buffer_of
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.indices import PartitionSize
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.memory import DEFINED, size_of
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.ops.elementwise import column
from kvtrace.addons.neuron.recorder import Execution
from kvtrace.addons.neuron.targets import PARTITIONS
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of

#: Words of a generator's state; the last word is the counter.
_WORDS: Final = 6
#: Words of an engine's state per partition (reference of `nki.isa.rand_set_state`).
STATE_WORDS: Final = {"gpsimd": 6, "vector": 24}
_STEP: Final = np.uint32(362437)

State = NDArray[np.uint32]


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new, uninitialized tensor, by default in SBUF."""
    del placement
    return _allocated(shape, dtype, buffer_of(buffer), name)


def _allocated(shape: Any, dtype: Any, buffer: Buffer, name: str, raw: Any = None) -> Tensor:
    run = current()
    sizes_given = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    partition_dimensions = [
        dimension for dimension, size in enumerate(sizes_given) if isinstance(size, PartitionSize)
    ]
    plain_shape = tuple(int(size) for size in sizes_given)
    if buffer.space != "hbm" and len(plain_shape) == 1:
        plain_shape = (*plain_shape, 1)
    memory = run.allocate(
        buffer.space,
        plain_shape,
        dtypes.as_dtype(dtype),
        partition=partition_dimensions[0] if partition_dimensions else 0,
        name=name,
        shared=buffer.shared,
        raw=raw,
    )
    return run.tensor(memory)


def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any
) -> Tensor:
    """Return a new tensor with `fill_value` in every element."""
    tensor = ndarray(shape, dtype, buffer=buffer, name=name, **placement)
    tensor.put(np.asarray(fill_value))
    memory = tensor.memory
    memory.states = None
    run = current()
    site = run.recorder.site("nl.full", "vector", "other", run.loop_number)
    nbytes = tensor.size * tensor.itemsize
    device, chip = (nbytes, 0) if memory.space == "hbm" else (0, nbytes)
    memory.life.first = memory.life.last = run.recorder.count
    run.recorder.add_execution(
        Execution(
            site,
            run.program,
            tensor.size,
            0,
            device,
            chip,
            0,
            memory.number,
            nbytes,
            (),
            run.serial,
        )
    )
    return tensor


def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of zeros, by default in SBUF."""
    return full(shape, 0, dtype, buffer=buffer, name=name, **placement)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **placement: Any) -> Tensor:
    """Return a new tensor of ones, by default in SBUF."""
    return full(shape, 1, dtype, buffer=buffer, name=name, **placement)


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Return a new, uninitialized tensor with the shape, type and memory of `x`, if not given."""
    return ndarray(x.shape, dtype or x.dtype, buffer=buffer or x.buffer, name=name)


def zeros_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> Tensor:
    """Return a new tensor of zeros with the shape, type and memory of `x`, if not given."""
    return zeros(x.shape, dtype or x.dtype, buffer=buffer or x.buffer, name=name)


def shared_constant(constant: Any, dtype: Any = None) -> Tensor:
    """Return a tensor in device memory with an array, or with a NumPy file's array.

    Raises:
        NkiError: the file cannot be read, or is not a NumPy file.
    """
    values = _loaded(constant) if isinstance(constant, str | os.PathLike) else np.array(constant)
    element_type = values.dtype if dtype is None else dtypes.as_dtype(dtype)
    raw = np.ascontiguousarray(dtypes.rounded(values, element_type)).view(np.uint8).reshape(-1)
    run = current()
    memory = run.allocate("hbm", values.shape, element_type, name="shared_constant", raw=raw)
    return run.tensor(memory)


def _loaded(path: str | os.PathLike[str]) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise NkiError(f"shared_constant cannot read {os.fspath(path)}: {error}") from None


def shared_identity_matrix(n: int, dtype: Any = dtypes.uint8) -> Tensor:
    """Return an n x n identity matrix as a tensor in device memory."""
    return shared_constant(np.eye(int(n), dtype=np.float32), dtype)


def rand(shape: Any, dtype: Any, **placement: Any) -> Tensor:
    """Return a tile of random numbers between 0 and 1, equal in every run."""
    tensor = full(shape, 0, dtype, **placement)
    tensor.put(current().random.random(size_of(tensor.shape)).reshape(tensor.shape))
    return tensor


def random_seed(seed: Any) -> None:
    """Restart the random numbers from a seed, an integer or a tensor with one integer."""
    value = seed.array().reshape(-1)[0] if isinstance(seed, Tensor) else seed
    current().random = np.random.default_rng(int(value))


def defined(tensor: Tensor) -> bool:
    """Return whether every element of a tensor is defined."""
    states = tensor.memory.states
    return states is None or bool((tensor.per_element(states) == DEFINED).all())


# Random number generators of engines: XORWOW (Marsaglia 2003), one or four per partition.
#
# A generator's state has six words: five that are shifted, the oldest `s` to the newest `v`, and a
# counter: `t = s ^ s >> 2; new = v ^ v << 4 ^ t ^ t << 1; counter += 362437; result = new +
# counter`. The vector engine has four generators per partition, 24 words, which take turns. The
# numbers that a device draws from a seed are not published, so kvtrace's differ; they are equal in
# every run.


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
def rand_set_state(issue: Issue, src_seeds: Any, engine: Any = None, name: Any = None) -> None:
    """Set the states of an engine's generators from a tile, one row per partition."""
    del name
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
def set_rng_seed(issue: Issue, src_seeds: Any, name: Any = None) -> None:
    """Restart the vector engine's random numbers from the seed in a tensor of one element."""
    del name
    source = issue.read(src_seeds)
    if source.values.size != 1:
        raise NkiError(f"set_rng_seed needs one number, not {source.values.shape}")
    bits = np.ascontiguousarray(source.values).view(np.dtype(f"u{source.values.itemsize}"))
    seed = int(bits.reshape(-1)[0])
    issue.run.random_states[issue.run.program, "vector"] = _seeded_states(
        seed, STATE_WORDS["vector"]
    )


#: Maximum number of dimensions of a pattern (reference of `nki.isa.iota`).
_DIMENSIONS = 4


def _pattern_values(
    destination: Tensor, pattern: Any, offset: int, multiplier: int
) -> NDArray[Any]:
    """Return `offset + partition × multiplier + Σ index × step` for each element of a tile.

    `pattern` is `[[step, count], …]`; the last index varies fastest.

    Raises:
        NkiError: the product of the counts is not the tile's number of elements per partition.
    """
    steps_and_counts = [(int(step), int(count)) for step, count in pattern]
    free_size = destination.size // destination.shape[0]
    pattern_size = int(np.prod([count for _, count in steps_and_counts], dtype=np.int64))
    if len(steps_and_counts) > _DIMENSIONS or pattern_size != free_size:
        raise NkiError(
            f"the pattern {pattern} has {len(steps_and_counts)} dimensions and {pattern_size} "
            f"elements; it needs up to {_DIMENSIONS}, and a partition's {free_size} elements"
        )
    sums = np.zeros(1, np.int64)
    for step, count in steps_and_counts:
        sums = (sums[:, None] + np.arange(count) * step).reshape(-1)
    partitions = np.arange(destination.shape[0])[:, None] * int(multiplier)
    return (int(offset) + partitions + sums).astype(np.int32).reshape(destination.shape)


@operation("nisa.iota", engine="gpsimd", kind="other")
def iota(issue: Issue, pattern: Any, offset: int = 0, channel_multiplier: int = 0) -> Result:
    """Return the values of a pattern, from `offset`, plus `channel_multiplier` per partition."""
    destination = issue.destination
    assert destination is not None
    values = _pattern_values(destination, pattern, offset, channel_multiplier)
    return issue.result(values, destination.dtype)


@operation("nisa.affine_select", engine="gpsimd", kind="elementwise")
def affine_select(
    issue: Issue,
    pattern: Any,
    offset: int = 0,
    channel_multiplier: int = 0,
    on_true_tile: Any = None,
    on_false_value: float = 0.0,
    cmp_op: Any = "equal",
) -> Result:
    """Return a tile's elements where `cmp_op(pattern value, 0)` is true, else a number."""
    destination = issue.destination
    assert destination is not None
    pattern_values = _pattern_values(destination, pattern, offset, channel_multiplier)
    token = token_of(cmp_op, 2)
    if token.kind != "comparison":
        raise NkiError(f"cmp_op of nisa.affine_select must be a comparison, not nl.{token.name}")
    tile = issue.read(on_true_tile)
    if tile.values.size != pattern_values.size:
        raise NkiError(
            f"affine_select needs on_true_tile and dst of one size, not {tile.values.shape}"
        )
    is_selected = np.asarray(token.apply(pattern_values, 0)).reshape(tile.values.shape)
    values = np.where(is_selected, tile.computed(), np.float32(on_false_value))
    states = None if tile.states is None else np.where(is_selected, tile.states, tile.states.max())
    return issue.result(values, None, tile, states=states)
