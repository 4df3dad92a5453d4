"""The reference's results, computed in a second process after the candidate has ended.

Until then they exist nowhere, so the candidate cannot find them. Other values of the inputs are
also drawn here: the candidate's launches must compute right results for them too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.reference import Expected, Reference, seed_torch, start_evaluator
from kvtrace.addons.judge.request import Place
from kvtrace.inputs.cases import (
    EPSILON,
    Case,
    Input,
    TensorInput,
    case_of,
    numpy_dtype,
    read_cases,
)
from kvtrace.inputs.values import (
    AWKWARD,
    BEYOND_CONSTANTS,
    BOTH_SIGNS,
    CONSTANTS,
    HUGE,
    OUTSIDE,
    ROWS,
    SPECIAL,
    WIDE,
    ZERO,
    constants_to_exceed,
    groups_of,
    is_float,
    is_floats,
    is_integers,
    other_values,
)
from kvtrace.schema.layout import write_whole

#: Elements of a case that is also drawn with awkward values, at most.
_MOST_ELEMENTS: Final = 1 << 21
#: Elements of a case of another size that is also drawn with rows far apart.
_MOST_ELEMENTS_OF_ROWS: Final = 1 << 17
#: Float constants in TTIR, and limits of reading them.
_CONSTANT: Final = re.compile(rb"arith\.constant (?:dense<)?(-?\d+\.\d+[eE][-+]\d+)>? : ")
_MOST_CONSTANTS: Final = 64
_MOST_KERNELS: Final = 16
_MOST_BYTES: Final = 1 << 20
#: A reference that is off by more than this share of a result has overflowed on its way.
_LOST_SHARE: Final = 1 / 4
#: Elements made of more inputs than this are sums, which overflow on some devices only.
_MOST_INPUTS_OF_ELEMENT: Final = 8
#: Results below this power of the largest number do not overflow on the way to them.
_FAR_BELOW: Final = 3 / 4
#: Kinds that one tensor at a time has, too, and tensors that have them.
_ALONE: Final = (ZERO, "zero columns")
_MOST_ALONE: Final = 3
#: The file of a case's answer, by the case's number.
_ANSWER: Final = "answer{}.json"
#: The reference's work, for all kinds of awkward values together: some seconds.
_AWKWARD_WORK: Final = 6_000_000


@dataclass(frozen=True, slots=True)
class FreshCase:
    """A case with values that the candidate never received, and the reference's results for it.

    `awkward`: the kind of awkward floats; empty if the floats are usual.
    """

    case: Case
    expected: Expected
    awkward: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reference's results for a case, and for the same case with other values.

    `untried` lists the kinds of awkward values that were not drawn, because the reference works
    much or the case has too many elements.
    """

    expected: Expected
    fresh: tuple[FreshCase, ...]
    untried: tuple[str, ...] = ()


def answer(
    place: Place, inputs: Path, child: Path, folder: Path, prepared: Path, seed: int,
    without: Collection[int] = (),
) -> None:  # fmt: skip
    """Write the reference's results for all cases, and for the cases with other values.

    Each case has a file of its own, and its values depend on the seed and its number alone, so that
    another process can go on with the other cases if this one is killed.

    Args:
        place: The reference's file and function.
        inputs: The folder with the cases.
        child: The folder of the candidate's process; its TTIR has constants for awkward values.
        folder: The folder to write into: the other values, and results as `answer<number>.json`.
        prepared: The file with the seed that the cases were made with.
        seed: The seed of the other values.
        without: Numbers of cases that are left out.
    """
    start_evaluator(folder)
    seed_torch(prepared)
    reference = Reference(place, folder)
    for number, case in enumerate(read_cases(inputs)):
        if number in without:
            continue
        fresh = _FreshCases(reference, case, number, inputs, folder, seed)
        fresh_cases = list(fresh.usual())
        # Where launches are right for fresh values, others are not compared.
        expected = reference.results(
            case, inputs, folder, str(number), measures=not number or not fresh_cases
        )
        if case.kind == "sizes":
            fresh_cases += fresh.rows_far_apart()
        untried: list[str] = []
        if not number:
            fresh_cases += fresh.wide_integers()
            fresh_cases += fresh.awkward(
                _kernel_constants(child), untried, work=expected.work,
                huge=0 < expected.length <= _MOST_INPUTS_OF_ELEMENT or _has_half_alone(case),
            )  # fmt: skip
        answer_of_case = Answer(expected, tuple(fresh_cases), tuple(untried))
        text = json.dumps(asdict(answer_of_case))
        write_whole(folder / _ANSWER.format(number), partial(Path.write_text, data=text))


def _has_half_alone(case: Case) -> bool:
    """Return whether all floats are of float16, whose sums are kept in a type that is wider.

    Sums of others overflow on some devices only, in some order. Squares that overflow in float16
    are finite wherever the reference widens them.
    """
    types = {entry.dtype for entry in case.tensors if is_float(entry)}
    return types == {"float16"}


class _FreshCases:
    """A case with other values, with the reference's results; refused values prove nothing.

    The contents of all tensors are written into `folder`, in files that begin with `number`.
    """

    def __init__(
        self, reference: Reference, case: Case, number: int, inputs: Path, folder: Path, seed: int
    ) -> None:
        self._reference = reference
        self._case = case
        self._number = number
        self._inputs = inputs
        self._folder = folder
        self._random = np.random.default_rng((seed, number))
        self._floats = [entry for entry in case.inputs if is_floats(entry)]
        self._elements = sum(entry.storage for entry in case.tensors)

    def usual(self) -> Iterator[FreshCase]:
        """Yield the case with other values: of all tensors, then of tensors of floats alone.

        A model's weights change in the first case alone, since a model may convert its weights once
        and keep the result.
        """
        weights = [] if self._number else [w for w in self._case.weights if is_float(w)]
        has_integers = any(is_integers(entry) for entry in self._case.inputs)
        for with_integers in [True] * has_integers + [False] * bool(self._floats or weights):
            changing = self._case.inputs if with_integers else self._floats
            for scaled in (False, True):
                name = f"fresh{with_integers:d}{scaled:d}"
                fresh = self._drawn(name, changing, weights, scaled=scaled)
                if fresh is not None:
                    yield fresh
                    break

    def rows_far_apart(self) -> Iterator[FreshCase]:
        """Yield a case of another size with rows far apart, which a loop over rows may mix up."""
        if self._floats and self._elements <= _MOST_ELEMENTS_OF_ROWS:
            fresh = self._drawn("rows", self._floats, awkward=ROWS)
            yield from [] if fresh is None else [fresh]

    def wide_integers(self) -> Iterator[FreshCase]:
        """Yield the case with integers of all sizes.

        All tensors of integers have such ones, then one at a time.
        """
        integers = [entry for entry in self._case.inputs if is_integers(entry)]
        alone = [[entry] for entry in integers[:_MOST_ALONE] if len(integers) > 1]
        kinds = product([integers, *alone], WIDE) if integers else ()
        for number, (changing, kind) in enumerate(kinds):
            fresh = self._drawn(f"wide{number}", changing, awkward=kind)
            yield from [] if fresh is None else [fresh]

    def awkward(
        self, constants: Sequence[float], untried: list[str], *, work: int, huge: bool
    ) -> Iterator[FreshCase]:
        """Yield the case with each kind of awkward floats.

        `work` is the reference's on the case. `huge`: also try values whose squares overflow. Kinds
        that are not tried, because of work or size, are added to `untried`.
        """
        floats, folder = self._floats, self._folder
        of_one_sign = [entry for entry in floats if _has_one_sign(entry, self._inputs)]
        kinds = [*_kinds(floats, constants, of_one_sign, huge=huge)] if floats else []
        for index, (kind, group, changing) in enumerate(kinds):
            if self._elements > _MOST_ELEMENTS or index * work > _AWKWARD_WORK:
                untried += dict.fromkeys(name for name, *_ in kinds[index:])
                return
            fresh = self._drawn(f"awkward{index}", changing, awkward=kind, constants=group)
            if fresh is None or (kind == HUGE and _overflows(fresh.expected, folder)):
                continue
            if kind != BOTH_SIGNS or _is_finite(fresh.expected, folder):
                yield fresh

    def _drawn(
        self, name: str, changing: Sequence[Input], weights: Sequence[TensorInput] = (), *,
        scaled: bool = False, awkward: str = "", constants: Sequence[float] = (),
    ) -> FreshCase | None:  # fmt: skip
        """Return the case with new values in `changing` and `weights`; None: they are refused.

        The values are usual ones (see `values.other_values` for `scaled`), or of the kind
        `awkward`.
        """
        case, folder, name = self._case, self._folder, f"{self._number}-{name}"
        new_files: dict[str, str] = {}

        def redrawn(entry: TensorInput, *, changes: bool) -> TensorInput:
            if entry.file not in new_files:  # or one tensor is several inputs
                new_files[entry.file] = f"{name}-{entry.file}"
                content = (self._inputs / entry.file).read_bytes()
                if changes:
                    content = other_values(
                        content, entry, self._random, scaled=scaled, awkward=awkward,
                        constants=constants,
                    )  # fmt: skip
                (folder / new_files[entry.file]).write_bytes(content)
            return replace(entry, file=new_files[entry.file])

        drawn = replace(
            case,
            inputs=tuple(
                redrawn(entry, changes=entry in changing)
                if isinstance(entry, TensorInput)
                else entry
                for entry in case.inputs
            ),
            weights=tuple(redrawn(entry, changes=entry in weights) for entry in case.weights),
        )
        try:
            expected = self._reference.results(
                drawn, folder, folder, name, measures=awkward != OUTSIDE
            )
        except Exception:  # noqa: BLE001 - the reference may raise anything
            return None
        return FreshCase(drawn, expected, awkward)


def _kinds(
    floats: Sequence[Input], constants: Sequence[float], of_one_sign: Sequence[Input], *,
    huge: bool,
) -> Iterator[tuple[str, list[float], Sequence[Input]]]:  # fmt: skip
    """Yield kinds of awkward values, each with constants and the tensors that have such values.

    Zeros, and NaN and infinities, are also in one tensor at a time: in several tensors at once they
    hide each other.
    """
    if given_floats := [e for e in floats if isinstance(e, TensorInput) and not e.is_drawn]:
        yield OUTSIDE, [], given_floats
    if of_one_sign:
        yield BOTH_SIGNS, [], of_one_sign
    if len(of_one_sign) > 1:
        yield from ((BOTH_SIGNS, [], [entry]) for entry in of_one_sign[:_MOST_ALONE])
    for kind in AWKWARD:
        if kind != HUGE or huge:
            yield kind, [], floats
        if kind in _ALONE and len(floats) > 1:
            yield from ((kind, [], [entry]) for entry in floats[:_MOST_ALONE])
    yield from ((BEYOND_CONSTANTS, [number], floats) for number in constants_to_exceed(constants))
    yield from ((CONSTANTS, group, floats) for group in groups_of(constants))
    yield SPECIAL, [], floats
    if len(floats) > 1:
        yield from ((SPECIAL, [], [entry]) for entry in floats[:_MOST_ALONE])


def _has_one_sign(entry: Input, inputs: Path) -> bool:
    """Return whether given floats have one sign, as draws of `torch.rand` or probabilities."""
    if not isinstance(entry, TensorInput) or entry.is_drawn:
        return False
    content = (inputs / entry.file).read_bytes()
    values = np.frombuffer(content, numpy_dtype(entry.dtype)).astype(np.float64)
    return bool((values > 0).any()) != bool((values < 0).any())


def _is_finite(expected: Expected, folder: Path) -> bool:
    """Return whether all results of the reference are finite, as an inverse sine's are not."""
    return all(
        np.isfinite(tensors.array(folder, stored).astype(np.float64)).all()
        for stored in (*expected.exact, *expected.native)
    )


def _overflows(expected: Expected, folder: Path) -> bool:
    """Return whether the reference, or an equally good algorithm, overflows in the inputs' types.

    It does if the reference's results in these types are far from the exact ones, or if results are
    near the largest number: a mean may add before it divides.
    """
    for exact_tensor, native_tensor in zip(expected.exact, expected.native, strict=True):
        if native_tensor["dtype"] not in EPSILON:
            continue
        exact, native = (
            tensors.array(folder, stored).astype(np.float64)
            for stored in (exact_tensor, native_tensor)
        )
        finite = np.isfinite(exact)
        with np.errstate(all="ignore"):
            is_close = np.abs(native - exact) <= _LOST_SHARE * np.abs(exact)
        limit = float(ml_dtypes.finfo(numpy_dtype(str(native_tensor["dtype"]))).max) ** _FAR_BELOW
        if not is_close[finite].all() or np.abs(exact[finite]).max(initial=0.0) > limit:
            return True
    return False


def _kernel_constants(child: Path) -> list[float]:
    """Return up to 64 nonzero float constants of each of up to 16 kernels, from their TTIR."""
    constants: dict[float, None] = {}
    for path in sorted(child.glob("ttir-*"))[:_MOST_KERNELS]:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            constant_texts = _CONSTANT.findall(file.read(_MOST_BYTES))
        constants |= {float(number): None for number in constant_texts[:_MOST_CONSTANTS]}
    return [constant for constant in constants if constant]


def read_answers(folder: Path, count: int) -> list[Answer | None]:
    """Read the reference's answers to `count` cases; None where it was killed before it answered.

    Raises:
        CannotJudge: the cases cannot be read.
    """
    files = [folder / _ANSWER.format(number) for number in range(count)]
    return [
        _answer_of(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None
        for file in files
    ]


def _answer_of(entry: Mapping[str, Any]) -> Answer:
    return Answer(
        _expected(entry["expected"]),
        tuple(
            FreshCase(case_of(fresh["case"]), _expected(fresh["expected"]), str(fresh["awkward"]))
            for fresh in entry["fresh"]
        ),
        tuple(map(str, entry["untried"])),
    )


def _expected(entry: Mapping[str, Any]) -> Expected:
    fields: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in entry.items()}
    return Expected(**fields)
