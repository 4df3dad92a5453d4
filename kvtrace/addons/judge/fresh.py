"""Other values for inputs of the same shapes, drawn after the candidate has ended.

What inputs mean is kept as far as it shows: zeros, infinities and NaNs stay where they are, what is
in order stays in order, permutations stay permutations, and nothing leaves the range that it had.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import EPSILON, numpy_dtype, strided
from kvtrace.addons.judge.inputs import Input, TensorInput

#: What one factor for all floats is taken from, where their mixture means nothing to the reference.
_FACTORS: Final = (0.5, 1.5)


def is_float(tensor: TensorInput) -> bool:
    """Whether a tensor holds floats; otherwise it holds integers or booleans."""
    return tensor.dtype in EPSILON


def is_floats(given: Input) -> bool:
    """Whether an input is a tensor of floats."""
    return isinstance(given, TensorInput) and is_float(given)


def is_integers(given: Input) -> bool:
    """Whether an input is a tensor of integers or booleans."""
    return isinstance(given, TensorInput) and not is_float(given)


def other_values(
    content: bytes, tensor: TensorInput, random: np.random.Generator, *, scaled: bool = False
) -> bytes:
    """Return a storage's bytes with other values in the elements that a tensor views.

    Args:
        content: The bytes of the storage.
        tensor: The view; what it does not reach stays.
        random: What is drawn from.
        scaled: Whether floats are all multiplied by one factor, rather than mixed.

    """
    held = np.frombuffer(content, numpy_dtype(tensor.dtype)).copy()
    view = strided(held, tensor.shape, tensor.strides, tensor.offset)
    values = view.ravel()
    if values.size:
        ordered = tensor.shape == values.shape and values.size > 1 and _in_order(values)
        drawn: NDArray[Any] = (
            _floats(values.astype(np.float64), random, scaled=scaled)
            if is_float(tensor)
            else _integers(values.astype(np.int64), random, ordered=ordered)
        )
        view[...] = (np.sort(drawn) if ordered else drawn).astype(held.dtype).reshape(tensor.shape)
    return held.tobytes()


def _floats(
    values: NDArray[np.float64], random: np.random.Generator, *, scaled: bool
) -> NDArray[np.float64]:
    """Mix every two values of those that are there: sums, extremes and signs all differ."""
    changing = np.isfinite(values) & (values != 0)
    known = values[changing]
    result = values.copy()
    if known.size and scaled:
        result[changing] = known * random.uniform(*_FACTORS)
    elif known.size:
        one, other = random.choice(known, known.size), random.choice(known, known.size)
        result[changing] = other + (one - other) * random.random(known.size)
    return result


def _integers(
    values: NDArray[np.int64], random: np.random.Generator, *, ordered: bool
) -> NDArray[np.int64]:
    low, high = int(values.min()), int(values.max())
    if high - low == values.size - 1 and np.unique(values).size == values.size:
        return values if ordered else random.permutation(values)
    drawn = random.integers(low, high, values.size, endpoint=True)
    if ordered:  # offsets of parts begin and end where they did
        drawn[0], drawn[-1] = low, high
    return drawn


def _in_order(values: NDArray[Any]) -> bool:
    return bool((values[1:] >= values[:-1]).all())
