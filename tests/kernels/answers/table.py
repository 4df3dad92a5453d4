"""The table of questions and answers as one file: a NumPy archive of bits and a JSON index.

Equal buffers are stored once, so that a second chip's file adds only where its answers differ.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.kernels.answers.question import Buffer, Question
from tests.kernels.answers.values import Bits

Answer = Mapping[str, Bits] | str
"""The outputs' bits by parameter, or the reason for which there are none."""


@dataclass(frozen=True)
class Run:
    """A device and the versions that answered."""

    chip: str
    capability: str
    triton: str
    torch: str

    @property
    def name(self) -> str:
        return f"{self.chip}, Triton {self.triton}"


@dataclass
class Table:
    """Questions, and of each run the answers by question."""

    questions: list[Question]
    answers: dict[Run, list[Answer]] = field(default_factory=dict)


class _Pool:
    """Buffers of bits laid end to end, by width; equal ones once."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, bytes], int] = {}
        self._parts: dict[int, list[Bits]] = {8: [], 16: [], 32: [], 64: []}
        self._sizes = dict.fromkeys(self._parts, 0)

    def place(self, bits: Bits) -> list[int]:
        """Return [width, start, count] of stored bits; the start of zeros is -1."""
        width = bits.dtype.itemsize * 8
        if not bits.any():
            return [width, -1, bits.size]
        key = (width, bits.tobytes())
        if key not in self._places:
            self._places[key] = self._sizes[width]
            self._parts[width].append(bits.reshape(-1))
            self._sizes[width] += bits.size
        return [width, self._places[key], bits.size]

    def arrays(self) -> Iterator[tuple[str, Bits]]:
        for width, parts in self._parts.items():
            empty = np.zeros(0, f"u{width // 8}")
            yield f"bits{width}", np.concatenate([empty, *parts])


def write(path: Path, table: Table) -> None:
    """Write a table."""
    pool = _Pool()
    rows = []
    for number, question in enumerate(table.questions):
        row: dict[str, Any] = dict(vars(question))
        row["arguments"] = {
            name: [value.dtype, *pool.place(value.bits)] if isinstance(value, Buffer) else value
            for name, value in question.arguments.items()
        }
        row["answers"] = [
            answer
            if isinstance(answer, str)
            else {name: pool.place(bits) for name, bits in answer.items()}
            for answer in (answers[number] for answers in table.answers.values())
        ]
        rows.append(row)
    index = {"runs": [vars(run) for run in table.answers], "questions": rows}
    text = json.dumps(index, separators=(",", ":")).encode()
    np.savez_compressed(path, index=np.frombuffer(text, np.uint8), **dict(pool.arrays()))


def read(path: Path) -> Table:
    """Return the table in a file."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    index = json.loads(arrays.pop("index").tobytes())

    def bits_at(width: int, start: int, count: int) -> Bits:
        stored: Bits = arrays[f"bits{width}"]
        return np.zeros(count, stored.dtype) if start < 0 else stored[start : start + count]

    table = Table([], {Run(**run): [] for run in index["runs"]})
    for row in index["questions"]:
        answers = row.pop("answers")
        row["outputs"] = tuple(row["outputs"])
        row["arguments"] = {
            name: value if isinstance(value, int) else Buffer(value[0], bits_at(*value[1:]))
            for name, value in row["arguments"].items()
        }
        table.questions.append(Question(**row))
        for run, answer in zip(table.answers, answers, strict=True):
            table.answers[run].append(
                answer
                if isinstance(answer, str)
                else {name: bits_at(*place) for name, place in answer.items()}
            )
    return table


def merged(tables: Iterable[Table]) -> Table:
    """Return one table of several runs over the same questions."""
    result: Table | None = None
    for table in tables:
        if result is None:
            result = table
            continue
        places = {_identity(question): place for place, question in enumerate(table.questions)}
        for run, answers in table.answers.items():
            result.answers[run] = [
                answers[places[key]] if (key := _identity(question)) in places else "not asked"
                for question in result.questions
            ]
    assert result is not None, "no tables to merge"
    return result


def _identity(question: Question) -> tuple[str, ...]:
    bits = {
        name: value.bits.tobytes().hex() if isinstance(value, Buffer) else str(value)
        for name, value in question.arguments.items()
    }
    return (
        question.name,
        question.kernel,
        str(question.constexprs),
        str(question.options),
        str(bits),
    )


def count(table: Table, *, library: bool) -> int:
    """Return the number of values asked about: the elements of all outputs."""
    return sum(
        value.bits.size
        for question in table.questions
        if question.op.startswith("libdevice.") is library
        for name, value in question.arguments.items()
        if name in question.outputs and isinstance(value, Buffer)
    )
