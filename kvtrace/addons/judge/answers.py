"""What runs in the reference's second process: right results, once the candidate has ended.

So the candidate can find them nowhere; nor can it know the other values of the same inputs that are
drawn here, for which launches have to be right, too.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.comparing import EPSILON, numpy_dtype
from kvtrace.addons.judge.fresh import (
    AWKWARD,
    CONSTANTS,
    HUGE,
    SPECIAL,
    WIDE,
    groups_of,
    is_float,
    is_floats,
    is_integers,
    other_values,
)
from kvtrace.addons.judge.inputs import Case, Input, TensorInput, read_cases, write_cases
from kvtrace.addons.judge.reference import Expected, Reference, seed_torch, start_evaluator
from kvtrace.addons.judge.request import Place

#: Elements of a case that is drawn with awkward values, too.
_MOST_ELEMENTS: Final = 1 << 21
#: Floats in TTIR, and what is read of it at most.
_CONSTANT: Final = re.compile(rb"arith\.constant (?:dense<)?(-?\d+\.\d+[eE][-+]\d+)>? : ")
_MOST_CONSTANTS: Final = 64
_MOST_KERNELS: Final = 16
_MOST_BYTES: Final = 1 << 20
#: By this share of a result a reference that overflows on its way is off, or more.
_KEPT: Final = 1 / 4
#: Elements of more inputs are sums, which one device lets overflow where another does not.
_FEW: Final = 8
#: What results are below where nothing overflows on the way to them: a power of the largest number.
_FAR_BELOW: Final = 3 / 4
#: Seconds of processor time after which no further kind of them is drawn.
_AWKWARD_SECONDS: Final = 1.5


@dataclass(frozen=True, slots=True)
class FreshCase:
    """A case with values that the candidate never had, and what the reference says of it.

    `whole`: integers and booleans differ, too, where the case has any. `awkward`: how its floats
    are, where they are such.
    """

    case: Case
    expected: Expected
    whole: bool
    awkward: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the reference says of a case, and of the same case with other values.

    `untried` are awkward values that were not drawn: there was no time, or are too many elements.
    """

    expected: Expected
    fresh: tuple[FreshCase, ...]
    untried: tuple[str, ...] = ()


def answer(
    place: Place, inputs: Path, child: Path, folder: Path, prepared: Path, seed: int
) -> None:  # fmt: skip
    """Leave what the reference gives for all cases, and for other values of them.

    Args:
        place: The reference.
        inputs: Where the cases are.
        child: Where the candidate's process has left TTIR.
        folder: Where results and other values are left.
        prepared: The file of the seed that the cases were made with.
        seed: What the other values are drawn from.

    """
    start_evaluator(folder)
    seed_torch(prepared)
    reference = Reference(place, folder)
    random = np.random.default_rng(seed)
    told, drawn = [], []
    for number, case in enumerate(read_cases(inputs)):
        expected = reference.results(case, inputs, folder, str(number))
        fresh = list(_fresh(reference, case, inputs, folder, random, number))
        untried: list[str] = []
        if not number:
            fresh += _of_all_sizes(reference, case, inputs, folder, random)
            constants = _constants(child)
            fresh += _awkward(
                reference, case, inputs, folder, random, constants, untried,
                huge=0 < expected.length <= _FEW,
            )  # fmt: skip
        told.append(
            {
                "expected": asdict(expected),
                "fresh": [[asdict(each.expected), each.whole, each.awkward] for each in fresh],
                "untried": untried,
            }
        )
        drawn += [each.case for each in fresh]
    write_cases(folder, drawn)
    (folder / "answers.json").write_text(json.dumps(told), encoding="utf-8")


def _fresh(
    reference: Reference, case: Case, inputs: Path, folder: Path, random: np.random.Generator,
    number: int,
) -> Iterator[FreshCase]:  # fmt: skip
    """Give cases with other values that the reference takes: all of them other, then floats alone.

    Weights differ in the first case alone: what a model makes of them once may be kept by it.
    """
    floats = any(is_floats(each) for each in (*case.inputs, *(() if number else case.weights)))
    integers = any(is_integers(each) for each in case.inputs)
    for whole in [True] * integers + [False] * floats:
        for scaled in (False, True):
            drawn = _other_values(
                case, inputs, folder, random, f"fresh{number}-{whole:d}{scaled:d}",
                [each for each in case.inputs if whole or is_floats(each)],
                [] if number else [each for each in case.weights if is_float(each)], scaled=scaled,
            )  # fmt: skip
            try:
                expected = reference.results(drawn, folder, folder, f"{number}-{whole:d}")
            except Exception:  # noqa: BLE001, S112 - values that mean nothing to it prove nothing
                continue
            yield FreshCase(drawn, expected, whole or not integers)
            break


def _awkward(
    reference: Reference, case: Case, inputs: Path, folder: Path, random: np.random.Generator,
    constants: Sequence[float], untried: list[str], *, huge: bool,
) -> Iterator[FreshCase]:  # fmt: skip
    """Yield the case with each kind of awkward floats that the reference takes.

    `huge`: whether those are tried whose squares overflow.
    """
    floats = [each for each in case.inputs if is_floats(each)]
    groups = [(CONSTANTS, each) for each in groups_of(constants)]
    usual: list[tuple[str, list[float]]] = [(kind, []) for kind in AWKWARD if kind != HUGE or huge]
    kinds = [*usual, *groups, (SPECIAL, [])]
    if not floats:
        return
    begun = time.process_time()
    many = sum(each.storage for each in case.tensors) > _MOST_ELEMENTS
    for at, (kind, drawn_from) in enumerate(kinds):
        if many or time.process_time() > begun + _AWKWARD_SECONDS:
            untried += dict.fromkeys(name for name, _ in kinds[at:])
            return
        drawn = _other_values(
            case, inputs, folder, random, f"awkward{at}", floats, (), scaled=False, awkward=kind,
            constants=drawn_from,
        )  # fmt: skip
        try:
            expected = reference.results(drawn, folder, folder, f"awkward{at}")
        except Exception:  # noqa: BLE001, S112 - values that mean nothing to it prove nothing
            continue
        if kind == HUGE and _overflows(expected, folder):
            continue
        yield FreshCase(drawn, expected, False, kind)


def _overflows(expected: Expected, folder: Path) -> bool:
    """Whether the reference overflows in the inputs' types, or an equally good algorithm may.

    That is where results are lost to it, or are large themselves: a mean may add before it divides.
    """
    for one, other in zip(expected.exact, expected.own, strict=True):
        if other["dtype"] not in EPSILON:
            continue
        exact, own = (tensors.array(folder, each).astype(np.float64) for each in (one, other))
        finite = np.isfinite(exact)
        with np.errstate(all="ignore"):
            kept = np.abs(own - exact) <= _KEPT * np.abs(exact)
        limit = float(ml_dtypes.finfo(numpy_dtype(str(other["dtype"]))).max) ** _FAR_BELOW
        if not kept[finite].all() or np.abs(exact[finite]).max(initial=0.0) > limit:
            return True
    return False


def _of_all_sizes(
    reference: Reference, case: Case, inputs: Path, folder: Path, random: np.random.Generator
) -> Iterator[FreshCase]:
    """Give a case with integers of all sizes.

    The reference refuses them where they are positions.
    """
    integers = [each for each in case.inputs if is_integers(each)]
    if not integers:
        return
    drawn = _other_values(
        case, inputs, folder, random, "wide", integers, (), scaled=False, awkward=WIDE
    )
    with suppress(Exception):  # they mean nothing to it, and prove nothing
        expected = reference.results(drawn, folder, folder, "wide")
        yield FreshCase(drawn, expected, False, WIDE)


def _other_values(
    case: Case, inputs: Path, folder: Path, random: np.random.Generator, name: str,
    changing: Sequence[Input], weights: Sequence[TensorInput], *, scaled: bool, awkward: str = "",
    constants: Sequence[float] = (),
) -> Case:  # fmt: skip
    """Return a case with other values in some tensors, whose contents are in `folder`."""
    made: dict[str, str] = {}

    def other(each: TensorInput, at: str, *, changes: bool) -> TensorInput:
        if each.file in made:  # one tensor is several inputs
            return replace(each, file=made[each.file])
        made[each.file] = f"{name}-{at}.bin"
        content = (inputs / each.file).read_bytes()
        if changes:
            content = other_values(
                content, each, random, scaled=scaled, awkward=awkward, constants=constants
            )
        (folder / f"{name}-{at}.bin").write_bytes(content)
        return replace(each, file=f"{name}-{at}.bin")

    return replace(
        case,
        inputs=tuple(
            other(each, str(at), changes=each in changing)
            if isinstance(each, TensorInput)
            else each
            for at, each in enumerate(case.inputs)
        ),
        weights=tuple(
            other(each, f"w{at}", changes=each in weights) for at, each in enumerate(case.weights)
        ),
    )


def _constants(child: Path) -> list[float]:
    """Return numbers that kernels compare with or compute with, some of each TTIR."""
    found: dict[float, None] = {}
    for path in sorted(child.glob("ttir-*"))[:_MOST_KERNELS]:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            numbers = _CONSTANT.findall(file.read(_MOST_BYTES))
        found |= {float(each): None for each in numbers[:_MOST_CONSTANTS]}
    return [each for each in found if each]


def read_answers(folder: Path) -> list[Answer]:
    """Read what the reference gave, a case an entry; nothing where there is no reference.

    Raises:
        CannotJudge: it was not left as `answer` writes it.

    """
    if not (folder / "answers.json").exists():
        return []
    told = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    drawn = iter(read_cases(folder))
    return [
        Answer(
            _expected(each["expected"]),
            tuple(
                FreshCase(next(drawn), _expected(e), bool(whole), str(awkward))
                for e, whole, awkward in each["fresh"]
            ),
            tuple(map(str, each["untried"])),
        )
        for each in told
    ]


def _expected(told: Mapping[str, Any]) -> Expected:
    return Expected(
        tuple(told["exact"]),
        tuple(told["own"]),
        tuple(told["changed"]),
        bool(told["in_float64"]),
        tuple(told["granted"]),
        tuple(told["granted_tf32"]),
        int(told["length"]),
    )
