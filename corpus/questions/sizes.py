"""Cases for `kvtrace sizes`: a range of sizes, a model of the truth, and kvtrace's answer.

A model is the kernel's address arithmetic once more in NumPy, with integers that wrap at 32 bits.
It gets numbers alone (scalars, extents, the grid), so that it is evaluated at sizes that no tensor
has.
"""

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

import kvtrace
from corpus.case import Answer, Case
from kvtrace.cli import main

INT32_MAX: Final = 2**31 - 1
_SHOWN: Final = 600  # of programs and sizes: more are sampled
_TRIPS: Final = 40  # of trips of a loop: of more, their ends and a few between
_DEFECTS: Final = ("overflow", "tensor")

Numbers = dict[str, int]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tensor:
    """Description of a tensor of a launch, allocated only if the launch is recorded."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.int8
    values: Sequence[int] | None = None

    def to_torch(self) -> torch.Tensor:
        """Return a new torch tensor with the described values, or with zeros."""
        if self.values is None:
            return torch.zeros(self.shape, dtype=self.dtype)
        return torch.tensor(self.values, dtype=self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Launch:
    """A launch at one size: grid, arguments by name, and the kernel's `tl.constexpr`."""

    grid: tuple[int, ...]
    arguments: Mapping[str, "int | Tensor | float"]
    constants: Mapping[str, Any] = field(default_factory=dict)

    def numbers(self) -> Numbers:
        """Return the launch's scalars, extents and grid by the names of kvtrace."""
        numbers = dict(zip(("grid_x", "grid_y", "grid_z"), (*self.grid, 1, 1)[:3], strict=True))
        for name, value in self.arguments.items():
            if isinstance(value, Tensor):
                numbers |= {
                    f"{name}.shape[{axis}]": extent for axis, extent in enumerate(value.shape)
                }
            elif isinstance(value, int):
                numbers[name] = value
        return numbers


def some(count: int) -> Array:
    """Return 0 … count - 1; if many, only ends, middles and neighbors of powers of two."""
    return between(0, count - 1)


def between(low: int, high: int) -> Array:
    """Return low … high; if many, only ends, middles and neighbors of powers of two."""
    if high - low < _SHOWN:
        return np.arange(low, high + 1, dtype=np.int64)
    ends = [*range(low, low + 40), *range(high - 40, high + 1)]
    powers = [sign * 2**bit + near for bit in range(32) for near in (-1, 0, 1) for sign in (1, -1)]
    spread = np.linspace(low, high, 40).astype(np.int64).tolist()
    values = np.unique(np.array(ends + powers + spread, dtype=np.int64))
    return values[(values >= low) & (values <= high)]


def _few(count: int) -> list[int]:
    if count <= _TRIPS:
        return list(range(count))
    middle = np.linspace(8, count - 9, 8).astype(np.int64).tolist()
    return [*range(8), *middle, *range(count - 8, count)]


class Evaluation:
    """Arithmetic of one launch: from its numbers to the reasons for which it is bad."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self.reasons: set[str] = set()

    def __getitem__(self, name: str) -> int:
        return self._numbers[name]

    def extent(self, tensor: str) -> int:
        """Return the number of elements of a contiguous tensor."""
        extents = [
            extent for name, extent in self._numbers.items() if name.startswith(f"{tensor}.shape[")
        ]
        return int(np.prod(np.array(extents, dtype=object)))

    def programs(self, axis: str = "grid_x") -> Array:
        """Return the program ids of a grid axis as a column, sampled if many."""
        return some(self[axis])[:, None]

    def few(self, axis: str) -> list[int]:
        """Return the program ids of a grid axis; if many, only the ends and a few between."""
        return _few(self[axis])

    def i32(self, value: "Array | int") -> Array:
        """Return integers wrapped to 32 bits, and add a reason if one wraps."""
        ideal = np.asarray(value, dtype=np.int64)
        wrapped = (ideal + 2**31) % 2**32 - 2**31
        if (wrapped != ideal).any():
            self.reasons.add("wraps")
        return wrapped

    def access(self, tensor: str, offset: "Array | int", mask: "Array | bool" = True) -> None:
        """Add a reason if an access, where its mask is on, is outside of its tensor."""
        offsets = np.asarray(offset, dtype=np.int64)
        if (((offsets < 0) | (offsets >= self.extent(tensor))) & mask).any():
            self.reasons.add(f"outside {tensor}")

    def trips(self, first: int, end: int, step: int) -> Iterator[int]:
        """Yield a loop's counters, sampled if many; add a reason if the last wraps 32 bits."""
        if first >= end:
            return
        if step <= 0:
            self.reasons.add("step")
            return
        count = (end - first + step - 1) // step
        self.i32(first + count * step)
        for trip in _few(count):
            yield first + trip * step


class Written(int):
    """An integer with the expression that it comes from."""

    text: str

    def __new__(cls, value: int, text: str) -> "Written":
        """Return the integer `value` that the expression `text` is."""
        written = super().__new__(cls, value)
        written.text = text
        return written

    def __neg__(self) -> "Written":
        return Written(-int(self), f"(-{self.text})")


def _operator(name: str, symbol: str) -> None:
    """Add an operator of two integers to `Written`, and its reflection."""

    def operated(left: int, right: int) -> Any:
        value = getattr(int, f"__{name}__")(int(left), int(right))
        return Written(value, f"({text_of(left)} {symbol} {text_of(right)})")

    setattr(Written, f"__{name}__", operated)
    setattr(Written, f"__r{name}__", lambda right, left: operated(left, right))


def text_of(value: object) -> str:
    """Return the expression of a `Written`, or the literal of another value."""
    return value.text if isinstance(value, Written) else repr(value)


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "//"), ("mod", "%")):
    _operator(_name, _symbol)


def _program(text: str | None, file: Path) -> Callable[..., None] | None:
    """Write a program's text to a file, and return its function `run`; None without a text."""
    if text is None:
        return None
    file.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), names)
    run: Callable[..., None] = names["run"]
    return run


Model = Callable[[Evaluation], None]


@dataclass(frozen=True)
class Question:
    """A range of sizes, with the recorded sizes, the launch at a size, and a model of the truth."""

    kernel: Any
    launch: Callable[[int], Launch]
    model: Model
    quantity: str
    low: int
    high: int
    recorded: Sequence[int]

    def reasons(self, numbers: Mapping[str, int]) -> set[str]:
        """Return the reasons for which a launch with these numbers is bad; empty if it is not."""
        if any(numbers[f"grid_{axis}"] == 0 for axis in "xyz"):
            return set()
        evaluation = Evaluation(numbers)
        with np.errstate(all="ignore"):
            self.model(evaluation)
        return evaluation.reasons

    def right(self) -> bool:
        """Return whether no sampled size of the range is bad."""
        sizes = between(self.low, self.high).tolist()
        return not any(self.reasons(self.launch(size).numbers()) for size in sizes)

    def _record(self, folder: str) -> None:
        run = _program(self._text(), Path(folder) / "program.py")
        with kvtrace.capture(folder):
            for size in self.recorded:
                launch = self.launch(size)
                to_torch = {
                    name: value.to_torch() if isinstance(value, Tensor) else value
                    for name, value in launch.arguments.items()
                }
                if run is None:
                    self.kernel[launch.grid](**to_torch, **launch.constants)
                else:
                    run(size, self.kernel, to_torch)

    def _text(self) -> str | None:
        """Return the text of a program that launches the kernel at a size.

        It is read off the launch's numbers; None if these follow in another way, as by a minimum.
        """
        launch = self.launch(Written(self.recorded[0], "size"))
        written = launch.numbers()
        for size in {*self.recorded, self.low, self.high}:
            numbers = self.launch(size).numbers()
            if any(eval(text_of(written[n]), {"size": size}) != numbers[n] for n in written):
                return None
        lines, words = [], []
        for name, value in launch.arguments.items():
            if isinstance(value, Tensor):
                extents = "".join(f"{text_of(extent)}, " for extent in value.shape)
                lines.append(f"    {name} = torch.empty(({extents}), dtype={value.dtype})")
                lines.append(f"    {name}.copy_(given[{name!r}])")
            words.append(f"{name}={name if isinstance(value, Tensor) else text_of(value)}")
        words += [f"{name}={value!r}" for name, value in launch.constants.items()]
        grid = "".join(f"{text_of(extent)}, " for extent in launch.grid)
        lines.append(f"    kernel[({grid})]({', '.join(words)})")
        return "\n".join(["import torch", "def run(size, kernel, given):", *lines, ""])

    def ask(self) -> Answer:
        """Return kvtrace's answer for the range, or the false one if rows contradict the model."""
        with tempfile.TemporaryDirectory() as folder:
            self._record(folder)
            rows = _sizes(folder)
            arguments = [
                row
                for variant in rows
                for row in variant["envelope"]
                if row["quantity"] == self.quantity
            ]
            contradicted = [self._contradicted(row) for row in arguments]  # all are printed
            if any(contradicted):
                return Answer.NO if self.right() else Answer.YES
            answers = [self._answer_of_row(row) for row in arguments]
            for size in {self.low, self.high}:
                answers += [
                    self._answer_at_point(variant["at"], size)
                    for variant in _sizes(folder, f"{self.quantity}={size}")
                ]
        if Answer.NO in answers:
            return Answer.NO
        return Answer.YES if Answer.YES in answers else Answer.UNKNOWN

    def _numbers_at_size(self, row: Mapping[str, Any], size: int) -> Numbers | None:
        """Return the numbers of a row's launch at a size; None if an expression is not readable."""
        numbers = self.launch(row["recorded"]).numbers()
        changed = {row["quantity"]: size}
        for equation in row["along"]:
            name, _, text = equation.partition(" = ")
            if name not in numbers:
                continue
            values = [evaluated(reading, numbers | changed) for reading in text.split(" or ")]
            if values[0] is None:
                return None
            launched = self.launch(size).numbers().get(name)
            changed[name] = launched if launched in values and launched else values[0]
        return numbers | changed if set(changed) <= set(numbers) else None

    def _same_family(self, row: Mapping[str, Any], size: int) -> bool:
        numbers = self._numbers_at_size(row, size)
        return numbers == self.launch(size).numbers()

    def _answer_of_row(self, row: Mapping[str, Any]) -> Answer:
        if not all(self._same_family(row, size) for size in (self.low, self.high)):
            print(f"  another family: {row['along']}")
            return Answer.UNKNOWN
        if any(self.low <= size <= self.high for size in _bad(row)):
            return Answer.NO
        if row["low"] is None or not row["low"] <= self.low <= self.high <= row["high"]:
            fields = ("kind", "low", "high", "reason", "what", "below")
            print("  unknown:", *(row[field] for field in fields))
            return Answer.UNKNOWN
        return Answer.YES

    def _answer_at_point(self, point: Mapping[str, Any] | None, size: int) -> Answer:
        if point and any(verdict["verdict"] == "violation" for verdict in point["verdicts"]):
            row = {"quantity": self.quantity, "along": point["along"]}
            if not any(self._same_family({**row, "recorded": n}, size) for n in self.recorded):
                return Answer.UNKNOWN
            return Answer.NO
        return Answer.UNKNOWN

    def _contradicted(self, row: Mapping[str, Any]) -> bool:
        """Return whether the model contradicts a claim of a row; print the first such claim."""
        for size, claimed in self._claims(row):
            numbers = self._numbers_at_size(row, size)
            if numbers is None:
                continue
            reasons = self.reasons(numbers)
            if bool(reasons) != claimed:
                print(
                    f"  CONTRADICTED: {row['quantity']} = {size} is "
                    f"{'bad' if claimed else 'proven'} by kvtrace, but {sorted(reasons)}; {row}"
                )
                return True
        return False

    def _claims(self, row: Mapping[str, Any]) -> Iterator[tuple[int, bool]]:
        """Yield (size, whether the row claims that the launch is bad at this size)."""
        if row["low"] is not None and row["high"] is not None:
            yield from ((size, False) for size in between(row["low"], row["high"]).tolist())
        yield from ((size, True) for size in _bad(row))


def _bad(row: Mapping[str, Any]) -> Iterator[int]:
    """Yield the sizes for which a row reports an access out of bounds, or an overflow."""
    for kind, size in (("kind", "first_bad"), ("below_kind", "last_bad")):
        if row[kind] in _DEFECTS and row[size] is not None:
            yield row[size]


def evaluated(text: str, values: Mapping[str, int]) -> int | None:
    """Return the value of an expression in kvtrace's output, or None if a name is unknown."""
    names = sorted(values, key=len, reverse=True)
    for name in names:
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w\[])", f"({values[name]})", text)
    with contextlib.suppress(NameError, SyntaxError, AttributeError, ZeroDivisionError):
        return int(eval(text, {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}))
    return None


def _sizes(folder: str, at: str | None = None) -> list[dict[str, Any]]:
    printed = io.StringIO()
    command = ["sizes", folder, "--json", *(["--at", at] if at else [])]
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main(command)
    rows: list[dict[str, Any]] = json.loads(printed.getvalue())["kernels"]
    return rows


def case(
    name: str,
    right: bool,
    why: str,
    kernel: Any,  # of @triton.jit
    asked: tuple[str, int, int],
    recorded: Sequence[int],
    launch: Callable[[int], Launch],
    model: Model,
) -> Case:
    """Return a case: `asked` is a quantity and its range, `model` the truth by arithmetic."""
    question = Question(kernel, launch, model, *asked, recorded)
    return Case(name, right, why, question.ask, question.right)
