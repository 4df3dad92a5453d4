"""One kernel on one set of arguments, labeled by the rule that it breaks and the line, or none.

Arguments are described, never allocated: a tensor is a shape, a type, strides and an offset in a
storage, and has contents only where the label needs them. So tensors of 2^31 elements cost nothing.

The line is the one of the kernel's source (or of a function that it calls) that ends in a comment
`# [mark]`; a label names rule and mark. Lines have marks, not rules, because the same kernel is
right with other arguments.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument, parsed
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.ir import Module, Op, source_stack
from kvtrace.recorded_calls.recorded import Call
from tests.support.compile_ttir import compile_generic


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor without contents, or with those of `data`.

    strides: in elements, row-major unless given. offset: elements from the start of the storage to
    the data pointer. room: elements of the storage (None: as many as it takes to hold the view).
    shares: the argument whose storage it lies in. odd_bytes: how much further its data pointer is.
    """

    shape: tuple[int, ...]
    dtype: str = "fp32"
    strides: tuple[int, ...] | None = None
    offset: int = 0
    room: int | None = None
    shares: str = ""
    odd_bytes: int = 0
    data: np.ndarray | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        if self.strides is not None:
            return self.strides
        steps = [1]
        for size in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * size)
        return tuple(steps[-len(self.shape) :]) if self.shape else ()

    @property
    def last(self) -> int:
        """One past the last element of the storage that the view contains."""
        if 0 in self.shape:
            return self.offset
        reach = sum(max(0, (n - 1) * s) for n, s in zip(self.shape, self.steps, strict=True))
        return self.offset + reach + 1


def tensor(*shape: int, dtype: str = "fp32", **where: Any) -> Tensor:
    """Return a tensor without contents."""
    return Tensor(shape, dtype, **where)


def holding(values: Any, dtype: str = "i32") -> Tensor:
    """Return a vector with contents, as KVTRACE_TENSORS=int would have recorded it."""
    data = np.asarray(values, element_of_short_name(dtype).memory)
    return Tensor(data.shape, dtype, data=data)


@dataclass(frozen=True)
class Expected:
    """An expected verdict: its rule, and the mark of its line."""

    rule: str
    mark: str


@dataclass(frozen=True, eq=False)
class Sample:
    """A call of a kernel with its expected verdicts.

    violations: all that must be found, and no others. follows: those that follow from them, and may
    be found or unknown. doubtful: likewise, but they rest on unknown values, as on those of a load
    outside its tensor, so they must not be proven. unknowns: those that cannot be decided, with a
    word that the reason must contain. All others must be proven or not mentioned. meets: two
    programs do touch the same bytes, but they are ordered, or it does no harm; `why` explains it.
    look_at: the programs whose addresses show it, if all are too many to run. wide: integers passed
    as i64. divisible: arguments that the kernel was compiled to assume are multiples of 16.
    """

    name: str
    kernel: Any
    arguments: Mapping[str, Any]
    constexprs: Mapping[str, Any]
    grid: tuple[int, ...]
    violations: tuple[Expected, ...] = ()
    unknowns: tuple[Expected, ...] = ()
    follows: tuple[Expected, ...] = ()
    doubtful: tuple[Expected, ...] = ()
    because: str = ""
    why: str = ""
    meets: bool = False
    look_at: tuple[int, ...] = ()
    wide: frozenset[str] = frozenset()
    divisible: tuple[str, ...] = ()
    theme: str = field(default="", compare=False)

    @property
    def is_clean(self) -> bool:
        return not self.violations

    @property
    def programs(self) -> int:
        return int(np.prod(self.grid, dtype=object))

    def module(self) -> Module:
        """The kernel's IR, compiled once; equal kernels and types give the same module."""
        order = {name: position for position, name in enumerate(self.kernel.arg_names)}
        names = sorted(self.arguments, key=order.__getitem__)
        types = tuple((name, self._type(name)) for name in names)
        constants = tuple(sorted(self.constexprs.items(), key=lambda item: order[item[0]]))
        return _module(self.kernel, types, constants, self.divisible)

    def call(self) -> Call:
        """Return the call that the rules judge, with copies of contents, as they may change."""
        arguments = self.bound()
        x, y, z = (*self.grid, 1, 1)[:3]
        known = (a for a in arguments if isinstance(a, TensorArgument))
        return Call(
            call_id=0,
            kernel=self.kernel.fn.__name__,
            grid=(x, y, z),
            module=self.module(),
            arguments=arguments,
            recorded=tuple(a.name for a in known if a.storage.data is not None),
            triton="3.6.0",  # before the version that compiles barriers around releases
        )

    def bound(self) -> tuple[Argument, ...]:
        """Return the evaluator's arguments in the kernel's order; storages are not allocated."""
        storages = self._storages()
        found: list[Argument] = []
        for name in self.kernel.arg_names:
            if name not in self.arguments:
                continue
            value = self.arguments[name]
            if not isinstance(value, Tensor):
                found.append(ScalarArgument(name, value))
                continue
            size = element_of_short_name(value.dtype).bytes
            storage, start = storages[value.shares or name], value.offset * size + value.odd_bytes
            found.append(
                TensorArgument(name, storage, start, value.dtype, value.shape, value.steps)
            )
        return tuple(found)

    def _storages(self) -> dict[str, Storage]:
        sizes: dict[str, int] = {}
        contents: dict[str, np.ndarray] = {}
        for name, value in self.arguments.items():
            if not isinstance(value, Tensor):
                continue
            elements = value.last if value.room is None else value.room
            owner = value.shares or name
            needed = elements * element_of_short_name(value.dtype).bytes + value.odd_bytes
            sizes[owner] = max(needed, sizes.get(owner, 0))
            if value.data is not None:
                contents[owner] = value.data.reshape(-1).view(np.uint8)
        return {
            name: Storage(size, contents[name].copy() if name in contents else None)
            for name, size in sizes.items()
        }

    def _type(self, name: str) -> str:
        value = self.arguments[name]
        if isinstance(value, Tensor):
            return f"*{value.dtype}"
        if isinstance(value, bool):
            return "i1"
        if isinstance(value, float):
            return "fp32"
        return "i64" if name in self.wide or not -(2**31) <= value < 2**31 else "i32"

    def marks(self) -> dict[str, int]:
        """Return the line of each mark in the kernel and in functions of its file that it calls."""
        return marks_of(self.kernel)

    def mark_of(self, op: Op) -> str:
        """Return the mark of the innermost line of an op that has a mark; else the op's line."""
        lines = {line: mark for mark, line in self.marks().items()}
        frames = source_stack(op)
        for frame in frames:
            if frame.line in lines:
                return lines[frame.line]
        return f"line {frames[0].line}" if frames else "no line"


@cache
def _module(
    kernel: Any,
    types: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, Any], ...],
    divisible: tuple[str, ...],
) -> Module:
    signature = dict(types) | {name: "constexpr" for name, _ in constants}
    debug = {"debug": True} if kernel.debug else {}  # else assertions are left out
    text = compile_generic(kernel, signature, dict(constants), divisible_by_16=divisible, **debug)
    return parsed(text, "cuda:90")


@cache
def marks_of(kernel: Any) -> dict[str, int]:
    """Return the marks in a kernel's source, and in functions of its file that have marks.

    Marks are unique within a kernel; those of other functions count where the kernel has none.
    """
    path = Path(inspect.getsourcefile(kernel.fn) or "")
    lines = path.read_text().splitlines()
    own, start = inspect.getsourcelines(kernel.fn)
    inside: dict[str, int] = {}
    called: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        found = re.search(r"# \[([\w ]+)\]$", line)
        if found is None:
            continue
        where = inside if start <= number < start + len(own) else called
        assert where is called or found[1] not in inside, (path, number)
        where[found[1]] = number
    return {**called, **inside}


def _expected(found: Mapping[str, str | tuple[str, ...]]) -> tuple[Expected, ...]:
    return tuple(
        Expected(rule.replace("_", "-"), mark)
        for rule, marks in found.items()
        for mark in ((marks,) if isinstance(marks, str) else marks)
    )


_SETTINGS = ("wide", "divisible", "look_at", "meets", "why", "follows", "doubtful")


class Samples(list[Sample]):
    """The samples of one theme; rules are keywords with underscores: `out_of_bounds="load"`."""

    def __init__(self, theme: str) -> None:
        super().__init__()
        self.theme = theme

    def bad(
        self,
        name: str,
        kernel: Any,
        arguments: Mapping[str, Any],
        constexprs: Mapping[str, Any],
        grid: tuple[int, ...],
        **found: Any,
    ) -> None:
        """Add a call with defects, each a rule and the mark (or marks) of its line."""
        settings = {key: found.pop(key) for key in _SETTINGS if key in found}
        self._add(name, kernel, arguments, constexprs, grid, _expected(found), (), settings)

    def good(
        self,
        name: str,
        kernel: Any,
        arguments: Mapping[str, Any],
        constexprs: Mapping[str, Any],
        grid: tuple[int, ...],
        **settings: Any,
    ) -> None:
        """Add a call without defects, although it looks like one with them."""
        self._add(name, kernel, arguments, constexprs, grid, (), (), settings)

    def undecided(
        self,
        name: str,
        kernel: Any,
        arguments: Mapping[str, Any],
        constexprs: Mapping[str, Any],
        grid: tuple[int, ...],
        because: str,
        **found: Any,
    ) -> None:
        """Add a call that cannot be decided, for a reason that contains the word `because`."""
        settings = {key: found.pop(key) for key in _SETTINGS if key in found}
        settings["because"] = because
        self._add(name, kernel, arguments, constexprs, grid, (), _expected(found), settings)

    def _add(
        self,
        name: str,
        kernel: Any,
        arguments: Mapping[str, Any],
        constexprs: Mapping[str, Any],
        grid: tuple[int, ...],
        violations: tuple[Expected, ...],
        unknowns: tuple[Expected, ...],
        settings: Mapping[str, Any],
    ) -> None:
        settings = dict(settings)
        for key in ("follows", "doubtful"):
            settings[key] = _expected(settings.get(key, {}))
        sample = Sample(
            name, kernel, arguments, constexprs, grid, violations, unknowns,
            theme=self.theme, **settings,
        )  # fmt: skip
        self.append(sample)
