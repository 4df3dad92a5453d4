"""The reference's first process, which makes all cases that the reference accepts.

The candidate's file is never imported here. Right results are computed after the candidate's
process has ended: see `answers.py`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.moves import IgnoredIndices, WorkCounter
from kvtrace.addons.judge.reference import Reference, seed_torch, start_evaluator
from kvtrace.addons.judge.request import (
    NO_INPUTS,
    PLAIN,
    TRYING,
    UNTRIED,
    CannotJudge,
    Place,
    Request,
)
from kvtrace.inputs.cases import (
    BEYOND,
    Case,
    Input,
    ScalarInput,
    TensorInput,
    inputs_by_annotations,
    label_of,
    numbers_of_annotations,
    parsed_shapes,
    write_cases,
)
from kvtrace.inputs.making import CaseMaker, must_be_accepted

#: Elements that a reference's operators may make for all cases, for each second of a process.
#: The answers' process calls the reference about 100 times a case (`grants.py`).
_WORK_OF_A_SECOND: Final = 400_000
#: Cases of about the given sizes, at most, which are to be tried beside others.
_ALIKE: Final = 40


def prepare(
    request: Request, folder: Path, names: Sequence[str], blocks: Sequence[int],
    numbers: Sequence[int], seed: Path, without: Collection[str] = (),
) -> None:  # fmt: skip
    """Make the given and derived cases, and write those that the reference accepts.

    Those on which the reference does least work come first. Labels of cases that it does too much
    work on are written as a list into the file `UNTRIED`.

    Args:
        request: The judgment's request.
        folder: The folder for cases and contents.
        names: Parameters of the entry.
        blocks: Possible block sizes in the candidate's file.
        numbers: Other integers of the file, which may be limits.
        seed: The file with the seed of drawn values.
        without: Labels of cases that the reference is not called on: it was killed for them. The
            file `TRYING` has the label of the last one.
    """
    start_evaluator(folder)
    drawn_from = seed_torch(seed)
    reference = _Tried(request.reference, folder, without)
    given_cases = _given_cases(request, reference, folder, names)
    weights = reference.weights(folder)
    named_extents = not request.shapes and reference.inputs() is None  # those of annotations
    numbered = _numbered_extents(reference) if named_extents else ()
    maker = CaseMaker(folder, weights, drawn_from, named_extents=named_extents, fixed=numbered)
    cases = [maker.fill(case, source) for case, source in given_cases]
    most_work = request.seconds * _WORK_OF_A_SECOND
    if named_extents:
        cases = [_of_suitable_size(reference, maker, cases[0], folder, most_work / _ALIKE)]
    has_derived_cases = len(given_cases) == 1
    if has_derived_cases:
        maker.bounds = _bounds_of_integers(reference, maker, cases[0], folder)
        cases += maker.derived_cases(cases[0], request.views, blocks, numbers)
    by_work = _accepted_cases(reference, maker, cases, folder, derives=has_derived_cases)
    by_work.sort(key=lambda pair: 0 if pair[1].kind in PLAIN else 1 + pair[0])
    total_work = [*accumulate(work for work, _ in by_work)]
    tried: list[Case] = []
    untried: list[Case] = []
    for total, (_, case) in zip(total_work, by_work, strict=True):
        (tried if total <= most_work or case.kind in PLAIN else untried).append(case)
    write_cases(folder, tried)
    (folder / UNTRIED).write_text(json.dumps([case.label for case in untried]), encoding="utf-8")


class _Tried(Reference):
    """The reference, which writes the label of the case at work into a file.

    It refuses the cases `without`.
    """

    def __init__(self, place: Place, folder: Path, without: Collection[str]) -> None:
        super().__init__(place, folder)
        self._file = folder / TRYING
        self._without = without

    def run(self, case: Case, inputs: Path) -> tuple[list[Any], list[Any], tuple[str, ...]]:
        """Run the reference on a case.

        Raises:
            RuntimeError: the reference was killed on the case before.
        """
        label = case.label or label_of(case.inputs)
        if label in self._without:
            raise RuntimeError("its process was killed")
        self._file.write_text(label, encoding="utf-8")
        try:
            return super().run(case, inputs)
        finally:
            self._file.unlink()  # a process that is killed leaves it


def _of_suitable_size(
    reference: Reference, maker: CaseMaker, case: Case, folder: Path, most_work: float
) -> Case:
    """Return the case, or one of other sizes if the reference refuses it or works too much on it.

    If none suits, return the accepted case with the least work, or else the given one.
    """
    accepted: list[tuple[int, Case]] = []
    for other in chain((case,), maker.smaller(case), maker.grouped(case)):
        try:
            with WorkCounter() as counter:
                reference.run(other, folder)
        except Exception:  # noqa: BLE001, S112 - the caller reports or replaces refused inputs
            continue
        if counter.work <= most_work:
            return other
        accepted.append((counter.work, other))
    return min(accepted, key=itemgetter(0), default=(0, case))[1]


def _bounds_of_integers(
    reference: Reference, maker: CaseMaker, case: Case, folder: Path
) -> dict[int, int]:
    """Return the extents that integers of the inputs may reach, by the number of the input.

    These are extents that the reference accepts integers up to, and whose upper half changes
    results. For example, row numbers reach the number of rows: larger ones are refused. Lengths
    reach an extent: larger ones change nothing.
    """
    bounds: dict[int, int] = {}
    for number, extent, *pair in maker.probes_of_integers(case):
        if number not in bounds:
            with suppress(Exception):  # the reference refuses such integers
                lower, upper = (reference.run(probe, folder)[1] for probe in pair)
                if any(
                    tensors.is_tensor(one) and tensors.bytes_of(one) != tensors.bytes_of(other)
                    for one, other in zip(lower, upper, strict=True)
                ):
                    bounds[number] = extent
    return bounds


def _accepted_cases(
    reference: Reference, maker: CaseMaker, cases: list[Case], folder: Path, *, derives: bool
) -> list[tuple[int, Case]]:  # fmt: skip
    """Return the cases that the reference accepts, each with the reference's work on it.

    Adds to `cases`, with `derives`, those that follow from the reference's call on the first one.

    Raises:
        CannotJudge: the reference fails on given inputs.
    """
    accepted: list[tuple[int, Case]] = []
    first_shapes: list[Any] = []
    ignored = IgnoredIndices()
    for index, case in enumerate(cases):
        try:
            with nullcontext() if index else ignored, WorkCounter() as counter:
                _, results, changed = reference.run(case, folder)
        except Exception as error:
            if must_be_accepted(case):
                raise CannotJudge(
                    f"the reference fails on {case.label}: {type(error).__name__}: {error}"
                ) from error
            continue  # the reference may refuse chosen sizes
        shapes = [getattr(result, "shape", None) for result in results]
        first_shapes = first_shapes if index else shapes
        if (
            (changed and case.shares)
            or (shapes == first_shapes and _broadcasts(case, cases[0]))
            or (case.kind in ("sizes", BEYOND) and _is_emptied(case, results))
        ):
            continue
        if derives and not index:
            cases += maker.cases_of_ignored_values(case, ignored.values)
            if not changed:
                described = [
                    (str(result.dtype).removeprefix("torch."), tuple(result.shape))
                    for result in results
                    if tensors.is_tensor(result)
                ]
                cases += maker.gradient_cases(case, described)
        accepted.append((counter.work, case))
    return accepted


def _is_emptied(case: Case, results: Sequence[Any]) -> bool:
    """Return whether elements give results without any, as groups of more heads than there are."""
    has_elements = all(0 not in tensor.shape for tensor in case.inputs_of_tensors)
    return has_elements and any(0 in getattr(result, "shape", ()) for result in results)


def _broadcasts(case: Case, given_case: Case) -> bool:
    """Return whether a derived case has an extent of 1 in a tensor, and another given shape.

    If results keep their shapes in such a case, the reference broadcasts, which a kernel for the
    given inputs need not do: it would read out of bounds.
    """
    pairs = [
        *zip(case.inputs_of_tensors, given_case.inputs_of_tensors, strict=False)
    ]  # and cotangents
    return (
        case.kind in ("sizes", BEYOND)
        and any(tensor.shape == given_tensor.shape for tensor, given_tensor in pairs)
        and any(1 in tensor.shape and 1 not in given_tensor.shape for tensor, given_tensor in pairs)
    )


def _given_cases(
    request: Request, reference: Reference, folder: Path, names: Sequence[str]
) -> list[tuple[Case, Path | None]]:  # fmt: skip
    """Return the given cases, each with the folder of its contents, or None without contents.

    Raises:
        CannotJudge: it is not known what the inputs are.
    """
    if request.shapes:
        shaped = ((text, parsed_shapes(text, names)) for text in request.shapes)
        return [
            (Case(text, "given", (*inputs, *_omitted_numbers(reference, names, len(inputs)))), None)
            for text, inputs in shaped
        ]
    function = reference.inputs()
    if function is not None:
        case = _case_made_by(function, folder)
        omitted = _omitted_numbers(reference, names, len(case.inputs))
        return [(replace(case, inputs=(*case.inputs, *omitted)), folder)]
    inputs = None
    if not reference.is_model:
        signature = inspect.signature(reference.callable)
        inputs = inputs_by_annotations(
            {n: (p.annotation, p.default) for n, p in signature.parameters.items()}
        )
    if inputs is None:
        raise CannotJudge(NO_INPUTS)
    return [(Case(label_of(inputs), "given", inputs), None)]


def _omitted_numbers(
    reference: Reference, names: Sequence[str], count: int
) -> Iterator[ScalarInput]:
    """Yield the numbers that are defaults of the parameters after `count` inputs, up to another.

    The parameters are those of the reference that the candidate has at the same places: a candidate
    that ignores one is right for its default alone.
    """
    function = reference.callable.forward if reference.is_model else reference.callable
    parameters = [*inspect.signature(function).parameters.values()]
    for parameter, name in [*zip(parameters, names, strict=False)][count:]:
        if parameter.name != name or not isinstance(parameter.default, int | float):
            return
        yield ScalarInput(name, parameter.default)


def _numbered_extents(reference: Reference) -> tuple[int, ...]:
    """Return the extents that the annotations of a reference state as numbers."""
    signature = inspect.signature(reference.callable)
    return numbers_of_annotations(p.annotation for p in signature.parameters.values())


def _case_made_by(function: Callable[..., Any], folder: Path) -> Case:
    values = function()
    if isinstance(values, dict):
        pairs = list(values.items())
    else:
        pairs = [(f"input{at}", value) for at, value in enumerate(values)]
    inputs: list[Input] = []
    for at, (name, value) in enumerate(pairs):
        entry = tensors.input_of(value, str(name))
        if isinstance(entry, TensorInput):
            entry = replace(entry, file=f"made{at}.bin")
            (folder / entry.file).write_bytes(tensors.storage_bytes(value))
        inputs.append(entry)
    return Case(label_of(inputs), "given", tuple(inputs))
