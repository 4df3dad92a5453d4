"""Batches in which one row, token or sequence is always the same, and the registry of cases."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Make = Callable[..., torch.Tensor]
Results = dict[str, torch.Tensor]
Size = tuple[int, int]

#: Rows, and at which of them the observed one lies.
SIZES: tuple[Size, ...] = ((1, 0), (3, 1), (9, 5))


class Batch:
    """Factory of a case's tensors; only the data of other rows differ between batches.

    Each tensor has its own random generators, seeded by its number in the case, so a case must
    create its tensors in the same order for every batch.

    Attributes:
        rows: the number of rows.
        position: the index of the observed row.
    """

    def __init__(self, name: str, rows: int, position: int) -> None:
        self.rows, self.position = rows, position
        self._seed, self._tensor_count = zlib.crc32(name.encode()), 0

    def _generator(self, other: bool = False) -> torch.Generator:
        generator = torch.Generator()
        salt = 7919 * (self.rows * 1009 + self.position + 1) if other else 0
        generator.manual_seed(self._seed + 104_729 * self._tensor_count + salt)
        return generator

    def shared(self, *shape: int, make: Make = torch.randn, **named: Any) -> torch.Tensor:
        """Return a tensor that all rows share, such as a weight; equal in all batches."""
        self._tensor_count += 1
        return make(
            *_integer_bounds(make), shape, generator=self._generator(), device="cpu", **named
        ).cuda()

    def per_row(self, *shape: int, make: Make = torch.randn, **named: Any) -> torch.Tensor:
        """Return a tensor of (rows, *shape), whose observed row is equal in all batches."""
        return self.packed([1] * self.rows, *shape, make=make, **named)

    def lengths(self, observed: int, low: int, high: int) -> list[int]:
        """Return a length for each sequence: `observed`, and random ones from low to high."""
        self._tensor_count += 1
        chosen = torch.randint(low, high + 1, (self.rows,), generator=self._generator(other=True),
                               device="cpu").tolist()  # fmt: skip
        chosen[self.position] = observed
        return chosen

    def packed(
        self, lengths: Sequence[int], *shape: int, make: Make = torch.randn, **named: Any
    ) -> torch.Tensor:
        """Return concatenated sequences: (sum of lengths, *shape)."""
        self._tensor_count += 1
        bounds, start = _integer_bounds(make), sum(lengths[: self.position])
        packed = make(*bounds, (sum(lengths), *shape), generator=self._generator(other=True),
                      device="cpu", **named)  # fmt: skip
        observed_length = lengths[self.position]
        packed[start : start + observed_length] = make(
            *bounds, (observed_length, *shape), generator=self._generator(), device="cpu", **named
        )
        return packed.cuda()

    def observed(self, result: torch.Tensor, lengths: Sequence[int] | None = None) -> torch.Tensor:
        """Return the observed row of (rows, ...), or the observed sequence of packed sequences."""
        if lengths is None:
            return result[self.position]
        start = sum(lengths[: self.position])
        return result[start : start + lengths[self.position]]


def _integer_bounds(make: Make) -> tuple[int, ...]:
    """Return the arguments before the shape: the bounds of random integers, else ()."""
    return (0, 1000) if make is torch.randint else ()


def cu_seqlens(lengths: Sequence[int]) -> torch.Tensor:
    """Return the offsets at which sequences begin, and the end of the last sequence."""
    return torch.tensor([0, *lengths]).cumsum(0).int()


@dataclass(frozen=True)
class Case:
    """A library's operation over a batch.

    Attributes:
        library: the library's name.
        name: the case's name.
        over: the items of the batch: rows, tokens, sequences …
        invariant: whether a row's result is independent of the batch, by reading the kernel.
        why: the reason for `invariant`.
        run: runs the operation, and returns the observed row of each output.
        sizes: (number of rows, index of the observed row) of each recorded batch.
    """

    library: str
    name: str
    over: str
    invariant: bool
    why: str
    run: Callable[[Batch], Results]
    sizes: tuple[Size, ...] = SIZES

    @property
    def title(self) -> str:
        """The library's name and the case's name."""
        return f"{self.library}.{self.name}"


CASES: dict[str, Case] = {}


def case(
    library: str, over: str, why: str, *, invariant: bool = True, sizes: tuple[Size, ...] = SIZES
) -> Callable[[Callable[[Batch], Results]], Callable[[Batch], Results]]:
    """Register a function as a case of a library under its own name."""

    def register(function: Callable[[Batch], Results]) -> Callable[[Batch], Results]:
        one = Case(library, function.__name__, over, invariant, why, function, sizes)
        if one.title in CASES:
            raise ValueError(f"there are two cases {one.title}")
        CASES[one.title] = one
        return function

    return register
