"""The reference's first process: inputs of all cases, as far as the reference accepts them.

The candidate's file is never imported here. If only that file makes inputs, another process
(`ask_for_inputs`) has stored them, and they are read as data. Right results are computed after the
candidate's process has ended: see `answers.py`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.gradients import results_of_call
from kvtrace.addons.judge.grants import Grant, Numbers, Unmeasured, as_numbers, grants_of
from kvtrace.addons.judge.inputs import (
    BEYOND,
    Case,
    Input,
    TensorInput,
    annotated,
    parsed_shapes,
    read_cases,
    write_cases,
)
from kvtrace.addons.judge.making import REFUSABLE, CaseMaker, label_of
from kvtrace.addons.judge.request import INPUTS, NO_INPUTS, CannotJudge, Place, Request
from kvtrace.evaluate.condition import FLOATS, Draw
from kvtrace.evaluate.shadows.errors.roundings import unit_of

#: The file of the constructor arguments of the reference's model.
INITIAL: Final = "initial.json"


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's results for a case.

    `exact`: results in float64. `native`: results in the inputs' types. `changed`: names of inputs
    that the reference writes to. `in_float64`: `exact` was computed without rounding to a narrower
    type. `granted`: allowed errors of results, empty if not known; `granted_tf32`: the same where
    dots round their factors to tf32. `length`: the number of inputs that an element is made of, as
    measured; 0 if not known.
    """

    exact: tuple[tensors.StoredResult, ...]
    native: tuple[tensors.StoredResult, ...]
    changed: tuple[str, ...]
    in_float64: bool
    granted: tuple[tensors.StoredResult, ...] = ()
    granted_tf32: tuple[tensors.StoredResult, ...] = ()
    length: int = 0


def ask_for_inputs(file: Path, function: str, folder: Path) -> None:
    """Import a file, and store the inputs that its function makes."""
    import torch

    start_evaluator(folder)
    module = tensors.import_file(file, "kvtrace_candidate")
    torch.manual_seed(0)  # the candidate's file knows its own inputs anyway
    write_cases(folder, [_case_made_by(getattr(module, function), folder)])


def prepare(
    request: Request, folder: Path, inputs_folder: Path | None, names: Sequence[str],
    blocks: Sequence[int], numbers: Sequence[int], seed: Path,
) -> None:  # fmt: skip
    """Make and store all cases that the reference accepts.

    Args:
        request: The judgment's request.
        folder: The folder for cases and contents.
        inputs_folder: The folder of inputs by `ask_for_inputs` or of recorded inputs, if any.
        names: Parameters of the entry.
        blocks: Possible block sizes.
        numbers: Other integers of the file.
        seed: The file of the seed of drawn values.

    """
    from kvtrace.addons.judge.moves import IgnoredIndices

    start_evaluator(folder)
    drawn_from = seed_torch(seed)
    reference = None if request.reference is None else Reference(request.reference, folder)
    given_cases = _given_cases(request, reference, folder, inputs_folder, names)
    weights = () if reference is None else reference.weights(folder)
    named_extents = _named_extents(request, reference, inputs_folder)
    maker = CaseMaker(folder, weights, drawn_from, named_extents=named_extents)
    cases = [maker.fill(case, source) for case, source in given_cases]
    has_derived_cases = len(given_cases) == 1 or request.trace is not None
    if has_derived_cases:
        cases += maker.derived_cases(cases[0], request.views, blocks, numbers)
    accepted: list[Case] = []
    shapes: list[Any] = []
    ignored = IgnoredIndices()
    for number, case in enumerate(cases):
        try:
            if reference is not None:
                with nullcontext() if number else ignored:
                    _, results, changed = reference.run(case, folder)
                if changed and case.shares:
                    continue
                shapes.append([getattr(result, "shape", None) for result in results])
                if shapes[-1] == shapes[0] and _broadcasts(case, cases[0]):
                    continue
        except Exception as error:
            if case.kind in ("given", "values") and case.label not in REFUSABLE:
                raise CannotJudge(
                    f"the reference fails on {case.label}: {type(error).__name__}: {error}"
                ) from error
            continue  # the reference may refuse chosen sizes
        if has_derived_cases and not number and reference is not None:
            cases += maker.cases_of_ignored_values(case, ignored.values)
            if not changed:
                cases += maker.gradient_cases(case, results)
        accepted.append(case)
    write_cases(folder, accepted)


def _broadcasts(case: Case, given_case: Case) -> bool:
    """Return whether an extent became 1 for one tensor while another kept its given shape.

    If results keep their shapes, the reference repeats elements, which the given inputs do not ask
    for and a kernel would read out of bounds.
    """
    pairs = [
        *zip(case.inputs_of_tensors, given_case.inputs_of_tensors, strict=False)
    ]  # and cotangents
    return (
        case.kind in ("sizes", BEYOND)
        and any(one.shape == other.shape for one, other in pairs)
        and any(1 in one.shape and 1 not in other.shape for one, other in pairs)
    )


def seed_torch(seed: Path) -> int:
    """Seed torch with the number in a file, and return the number."""
    import torch

    number = int(seed.read_text(encoding="ascii"), 16)
    torch.manual_seed(number % (1 << 63))
    return number


def start_evaluator(folder: Path) -> None:
    """Make kernels run in the evaluator, and tensors for a GPU live on the CPU."""
    import torch

    from kvtrace.capture.api import start

    torch.set_num_threads(1)
    start(folder / "unused", compile="ttir", device="cpu", tensors="none", source="off")


class Reference:
    """A function or a model that gives the right results."""

    def __init__(self, place: Place, folder: Path) -> None:
        module = tensors.import_file(place.file, "kvtrace_reference")
        self.module = module
        self.callable: Any = getattr(module, place.name)
        self.is_model = inspect.isclass(self.callable)
        if self.is_model:
            initial: Sequence[Any] = getattr(module, "get_init_inputs", list)()
            self.callable = self.callable(*initial)
            # For arguments that JSON lacks, the candidate needs its own function.
            with suppress(TypeError, ValueError):
                (folder / INITIAL).write_text(json.dumps(list(initial)), encoding="utf-8")

    def inputs(self) -> Callable[..., Any] | None:
        """Return the function of the reference's file that makes inputs, if any."""
        name = next((n for n in INPUTS if callable(getattr(self.module, n, None))), None)
        return None if name is None else getattr(self.module, name)

    def weights(self, folder: Path) -> tuple[TensorInput, ...]:
        """Return a model's weights, and store their contents in a folder."""
        if not self.is_model:
            return ()
        weights = []
        for number, (name, value) in enumerate(self.callable.state_dict().items()):
            weight = tensors.input_of(value.contiguous().clone(), name)
            assert isinstance(weight, TensorInput)
            file = f"weight{number}.bin"
            (folder / file).write_bytes(tensors.bytes_of(value))
            weights.append(replace(weight, file=file))
        return tuple(weights)

    def run(self, case: Case, inputs: Path) -> tuple[list[Any], list[Any], tuple[str, ...]]:
        """Run the reference in the inputs' types; return inputs before, results, changed names.

        If the reference returns nothing, its results are the inputs that it writes to.
        """
        import torch

        arguments = tensors.arguments_from(case, inputs)
        before = [a.clone() if tensors.is_tensor(a) else a for a in arguments]
        if self.is_model:
            state = {weight.name: tensors.tensor_from(weight, inputs) for weight in case.weights}
            self.callable.load_state_dict(state)
        with torch.no_grad():
            results = self._call(case, arguments)
        changed = tuple(
            entry.name
            for entry, old, new in zip(case.inputs, before, arguments, strict=True)
            if tensors.is_tensor(old) and not torch.equal(_bits(old), _bits(new))
        )
        if not results:
            results = [
                a for entry, a in zip(case.inputs, arguments, strict=True) if entry.name in changed
            ]
        return before, results, changed

    def results(self, case: Case, inputs: Path, folder: Path, name: str) -> Expected:
        """Run the reference in float64 and in the inputs' types; store the results in a folder."""
        import torch

        before, native, changed = self.run(case, inputs)
        with torch.no_grad():
            exact, in_float64 = self._exactly(case, before, native, changed)
            measured = self._grants(case, before, native, changed, exact) if in_float64 else None
        grants = [] if measured is None else measured
        files = [f"granted{name}-{at}" for at in range(len(grants))]
        stored = [
            tuple(
                tensors.store_result(
                    torch.from_numpy(grant[kind]), file, folder, f"{file}-{kind}.bin"
                )
                for file, grant in zip(files, grants, strict=True)
            )
            for kind in range(2)
        ]
        return Expected(
            tuple(
                tensors.store_result(_tensor(result), str(at), folder, f"exact{name}-{at}.bin")
                for at, result in enumerate(exact)
            ),
            tuple(
                tensors.store_result(_tensor(result), str(at), folder, f"own{name}-{at}.bin")
                for at, result in enumerate(native)
            ),
            changed,
            in_float64,
            stored[0],
            stored[1],
            length=max((length for *_, length in grants), default=0),
        )

    def _grants(
        self, case: Case, before: Sequence[Any], native: Sequence[Any], changed: Sequence[str],
        exact: Sequence[Any],
    ) -> list[Grant] | None:  # fmt: skip
        """Measure the grants of a case's results; None if they are not known."""
        if not exact or not all(map(tensors.is_tensor, (*exact, *native))):
            return None

        def results(draw: Draw) -> list[Numbers]:
            moved_results, in_float64 = self._exactly(case, before, native, changed, draw)
            if not in_float64:
                raise Unmeasured
            return [as_numbers(_tensor(result)) for result in moved_results]

        state = self.callable.state_dict().values() if self.is_model else ()
        floats = [
            (as_numbers(value), str(value.dtype).removeprefix("torch."))
            for value in (*before, *state)
            if tensors.is_floats(value)
        ]
        names = [str(result.dtype).removeprefix("torch.") for result in native]
        if any(name not in FLOATS for _, name in floats):
            return None
        native_values = [
            (as_numbers(result), name) for result, name in zip(native, names, strict=True)
        ]
        return grants_of(results, [as_numbers(result) for result in exact], native_values, floats)

    def _exactly(
        self, case: Case, inputs: Sequence[Any], native: Sequence[Any], changed: Sequence[str],
        draw: Draw | None = None,
    ) -> tuple[list[Any], bool]:  # fmt: skip
        import copy

        import torch

        from kvtrace.addons.judge.moves import NarrowingDetector

        wide_inputs = [_moved(value, _wide(value), draw) for value in inputs]
        model = self.callable
        try:
            if self.is_model:
                self.callable = copy.deepcopy(model).double()
                wide_state = self.callable.state_dict()
                for name, weight in model.state_dict().items():
                    wide_weight = wide_state[name]
                    wide_weight.copy_(_moved(weight, wide_weight, draw))
            with NarrowingDetector() as narrowing:
                results = self._call(case, wide_inputs)
            if not results:
                results = [
                    a
                    for entry, a in zip(case.inputs, wide_inputs, strict=True)
                    if entry.name in changed
                ]
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return [torch.as_tensor(result) for result in native], False  # it takes no float64
        else:
            return results, not narrowing.has_narrowed
        finally:
            self.callable = model

    def _call(self, case: Case, arguments: Sequence[Any]) -> list[Any]:
        return results_of_call(
            self.callable, arguments, tracked=case.tracked, cotangents=case.cotangents
        )


def _wide(value: Any) -> Any:
    if tensors.is_floats(value):
        return value.double()
    return value.clone() if tensors.is_tensor(value) else value


def _moved(original: Any, wide: Any, draw: Draw | None) -> Any:
    """Return a tensor in float64, moved by a draw within a share of its type's rounding steps."""
    name = FLOATS.get(str(getattr(original, "dtype", "")).removeprefix("torch."))
    if draw is None or name is None:
        return wide
    import torch

    return torch.from_numpy(draw.moved(wide.numpy(), unit_of(name)).copy()).reshape(wide.shape)


def _bits(tensor: Any) -> Any:
    import torch

    flat = tensor.contiguous().reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else flat


def _tensor(value: Any) -> Any:
    import torch

    return value.detach() if tensors.is_tensor(value) else torch.as_tensor(value)


def _given_cases(
    request: Request, reference: Reference | None, folder: Path, inputs_folder: Path | None,
    names: Sequence[str],
) -> list[tuple[Case, Path | None]]:  # fmt: skip
    """Return the given cases, with the folder of their contents if they have any."""
    if request.shapes:
        return [(Case(text, "given", parsed_shapes(text, names)), None) for text in request.shapes]
    if request.trace is not None and inputs_folder is not None:
        return [(case, inputs_folder) for case in read_cases(inputs_folder)]
    function = None if reference is None else reference.inputs()
    if function is not None:
        return [(_case_made_by(function, folder), folder)]
    if inputs_folder is not None:
        return [(read_cases(inputs_folder)[0], inputs_folder)]
    inputs = None
    if reference is not None and not reference.is_model:
        signature = inspect.signature(reference.callable)
        inputs = annotated({n: (p.annotation, p.default) for n, p in signature.parameters.items()})
    if inputs is None:
        raise CannotJudge(NO_INPUTS)
    return [(Case(label_of(inputs), "given", inputs), None)]


def _named_extents(
    request: Request, reference: Reference | None, inputs_folder: Path | None
) -> bool:
    """Return whether annotations say which extents are equal."""
    return (
        not request.shapes
        and inputs_folder is None
        and reference is not None
        and reference.inputs() is None
    )


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
