"""A batch in which one row, token or sequence is always the same, and cases that take one."""

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
    """Makes a case's tensors: all but the other rows of the batch are the same at every size.

    Each tensor has its own random generators, seeded by its number in the case, so a case must
    make its tensors in the same order at every size.

    Attributes:
        rows: how many rows the batch has.
        position: which of them is observed.
    """

    def __init__(self, name: str, rows: int, position: int) -> None:
        self.rows, self.position = rows, position
        self._seed, self._made = zlib.crc32(name.encode()), 0

    def _generator(self, other: bool = False) -> torch.Generator:
        generator = torch.Generator()
        salt = 7919 * (self.rows * 1009 + self.position + 1) if other else 0
        generator.manual_seed(self._seed + 104_729 * self._made + salt)
        return generator

    def shared(self, *shape: int, make: Make = torch.randn, **named: Any) -> torch.Tensor:
        """Return a tensor that belongs to no row, such as a weight."""
        self._made += 1
        return make(
            *_before(make), shape, generator=self._generator(), device="cpu", **named
        ).cuda()

    def each(self, *shape: int, make: Make = torch.randn, **named: Any) -> torch.Tensor:
        """Return a tensor of (rows, *shape)."""
        return self.packed([1] * self.rows, *shape, make=make, **named)

    def lengths(self, observed: int, low: int, high: int) -> list[int]:
        """Return a length per sequence: the observed one as given, others from low to high."""
        self._made += 1
        chosen = torch.randint(low, high + 1, (self.rows,), generator=self._generator(other=True),
                               device="cpu").tolist()  # fmt: skip
        chosen[self.position] = observed
        return chosen

    def packed(
        self, lengths: Sequence[int], *shape: int, make: Make = torch.randn, **named: Any
    ) -> torch.Tensor:
        """Return sequences behind each other: (sum of lengths, *shape)."""
        self._made += 1
        before, begin = _before(make), sum(lengths[: self.position])
        whole = make(*before, (sum(lengths), *shape), generator=self._generator(other=True),
                     device="cpu", **named)  # fmt: skip
        own = lengths[self.position]
        whole[begin : begin + own] = make(*before, (own, *shape), generator=self._generator(),
                                          device="cpu", **named)  # fmt: skip
        return whole.cuda()

    def own(self, result: torch.Tensor, lengths: Sequence[int] | None = None) -> torch.Tensor:
        """Return the observed row of (rows, ...), or the observed sequence of packed ones."""
        if lengths is None:
            return result[self.position]
        begin = sum(lengths[: self.position])
        return result[begin : begin + lengths[self.position]]


def _before(make: Make) -> tuple[int, ...]:
    """Return what precedes the shape: the bounds of integers."""
    return (0, 1000) if make is torch.randint else ()


def starts(lengths: Sequence[int]) -> torch.Tensor:
    """Return where sequences begin, and where the last one ends."""
    return torch.tensor([0, *lengths]).cumsum(0).int()


@dataclass(frozen=True)
class Case:
    """A library's operation over a batch.

    Attributes:
        library: what it is imported from.
        name: its name here.
        over: what the batch consists of: rows, tokens, sequences …
        invariant: whether a row's result is independent of the batch, by reading the kernel.
        why: what decides it.
        run: launches it, and returns the observed row of each output argument.
        sizes: rows of each batch and the place of the observed one.
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
        """Return library and name."""
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
