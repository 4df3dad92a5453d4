"""Structures of tuples, lists and dicts: the leaves of a value, and a value made of leaves."""

from collections.abc import Callable, Sequence
from typing import Any


class Leaf:
    """A leaf's number, in place of the leaf in a structure of tuples, lists and dicts."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def flattened(
    value: Any,
    is_leaf: Callable[[Any], bool],
    leaves: list[tuple[str | None, Any]],
    path: str | None = None,
) -> Any:
    """Return a value's structure, with a `Leaf` for each leaf; other values stay.

    Each leaf is appended to `leaves` with its path, as `layers.0.bias`. Without a path, items of a
    dict or of a named tuple have theirs from the key, and other items have none.
    """
    if is_leaf(value):
        leaves.append((path, value))
        return Leaf(len(leaves) - 1)
    if isinstance(value, dict):
        return {
            key: flattened(item, is_leaf, leaves, str(key) if path is None else f"{path}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, tuple | list):
        names = getattr(value, "_fields", range(len(value)) if path else [None] * len(value))
        items = [
            flattened(item, is_leaf, leaves, name if path is None else f"{path}.{name}")
            for name, item in zip(names, value, strict=True)
        ]
        return _like(value, items)
    return value


def structured(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return a structure with each `Leaf` replaced by the leaf of its number."""
    if isinstance(structure, Leaf):
        return leaves[structure.number]
    if isinstance(structure, dict):
        return {key: structured(value, leaves) for key, value in structure.items()}
    if isinstance(structure, tuple | list):
        return _like(structure, [structured(value, leaves) for value in structure])
    return structure


def _like(sequence: Any, items: list[Any]) -> Any:
    """Return the items in a list, tuple or named tuple of the class of `sequence`."""
    return type(sequence)(*items) if hasattr(sequence, "_fields") else type(sequence)(items)
