"""Batches whose rows have the same data at any position, and cases that run kernels on them."""

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass

import torch

import kvtrace
from corpus.case import Answer, Case
from corpus.questions.versions import in_fixed_order
from kvtrace.cli import main

#: How many rows the truth is evaluated at; the watched row comes first, last and between.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 14, 16, 17, 31, 32, 40, 65, 100)
#: Row whose bits are compared; rows from HUGE on have data a hundred times as large.
WATCHED, HUGE = 0, 1000

Outputs = torch.Tensor | Sequence[torch.Tensor]


@dataclass(frozen=True)
class Batch:
    """A batch of rows by number: rows of equal number have equal data, at any position."""

    rows: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def _generator(self, row: int, tag: int) -> torch.Generator:
        return torch.Generator().manual_seed(7919 * row + tag)

    def floats(self, *shape: int, tag: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return normal numbers (rows, *shape), which depend on the rows' numbers and `tag`."""
        return torch.stack(
            [
                torch.randn(shape, generator=self._generator(row, tag))
                * (100 if row >= HUGE else 1)
                for row in self.rows
            ]
        ).to("cuda", dtype)

    def integers(
        self, low: int, high: int, *shape: int, tag: int = 0, dtype: torch.dtype = torch.int32
    ) -> torch.Tensor:
        """Return integers in [low, high), (rows, *shape), which depend on row numbers and `tag`."""
        return torch.stack(
            [
                torch.randint(low, high, shape, generator=self._generator(row, tag))
                for row in self.rows
            ]
        ).to("cuda", dtype)

    def result(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return an output (rows, *shape), filled with a number that no kernel stores."""
        return torch.full((self.size, *shape), 77, device="cuda", dtype=dtype)


def shared(*shape: int, tag: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return normal numbers of a shape, equal in all batches."""
    generator = torch.Generator().manual_seed(104729 + tag)
    return torch.randn(shape, generator=generator).to("cuda", dtype)


def case(
    *,
    right: bool,
    why: str,
    recorded: tuple[int, ...] = (3, 5, 12),
    read: bool = False,
    over: str | None = None,
) -> Callable[[Callable[[Batch], Outputs]], Case]:
    """Return a decorator that makes a case of a function from a batch to a kernel's outputs.

    Args:
        right: Whether a row's bits are the same in all batches.
        why: The reason, in a sentence.
        recorded: Numbers of rows in the recorded launches.
        read: Whether the truth does not show in the evaluator's order of operations.
        over: The argument that a contract names.
    """

    def made(run: Callable[[Batch], Outputs]) -> Case:
        return Case(
            name=run.__name__,
            right=right,
            why=why,
            ask=lambda: _kvtrace_answer(run, recorded, over),
            truth=None if read else lambda: _same_bits(run),
            evidence="read" if read else "evaluated",
        )

    return made


def _kvtrace_answer(
    run: Callable[[Batch], Outputs], sizes: Sequence[int], over: str | None
) -> Answer:
    """Record the kernel at each size, and return kvtrace's answer for all outputs together."""
    with tempfile.TemporaryDirectory() as folder:
        with kvtrace.capture(folder, device="cpu", compile="ttir"):
            for size in sizes:
                run(Batch(tuple(range(size))))
        printed = io.StringIO()
        with redirect_stdout(printed):
            main(["invariance", folder, "--json", *(["--over", over] if over else [])])
    answers = json.loads(printed.getvalue())
    verdicts = {judged["verdict"] for judged in answers["over" if over else "outputs"]}
    if verdicts == {"proven"}:
        return Answer.YES
    return Answer.NO if verdicts & {"violation", "depends"} else Answer.UNKNOWN


def _same_bits(run: Callable[[Batch], Outputs]) -> bool:
    """Return whether the watched row has the same bits in every tried batch."""
    with in_fixed_order():
        values = {
            _bits(run(batch), batch.rows.index(WATCHED))
            for size in SIZES
            for batch in _batches(size)
        }
    return len(values) == 1


def _batches(size: int) -> list[Batch]:
    places = sorted({0, size // 2, size - 1})
    return [
        Batch((*others[:position], WATCHED, *others[position:]))
        for position in places
        for others in (tuple(range(1, size)), tuple(range(HUGE, HUGE + size - 1)))
    ]


def _bits(outputs: Outputs, place: int) -> bytes:
    tensors = [outputs] if isinstance(outputs, torch.Tensor) else outputs
    return b"".join(
        tensor[place : place + 1].cpu().contiguous().view(torch.uint8).numpy().tobytes()
        for tensor in tensors
    )
