"""What runs in the reference's first process: inputs of all cases that the reference takes.

The candidate's file is never imported here. Where only that file says what its inputs are, another
process (`ask_for_inputs`) has left them, and they are taken as data. Right results are made after
the candidate's process has ended: see `answers.py`.
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
from kvtrace.evaluate.shadows.deviation.roundings import unit_of

#: What a model of the reference is made with.
INITIAL: Final = "initial.json"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference says of a case.

    `exact` are results in float64, `own` those in the inputs' types; `changed` names the inputs
    that it writes to. `in_float64`: nothing was rounded to a narrower type on the way to `exact`.
    `granted`: how far right results may be off (empty: that is not known), and where dots cut their
    factors to tf32. `length`: of how many inputs an element is made, as measured; 0: not known.
    """

    exact: tuple[tensors.StoredResult, ...]
    own: tuple[tensors.StoredResult, ...]
    changed: tuple[str, ...]
    in_float64: bool
    granted: tuple[tensors.StoredResult, ...] = ()
    granted_tf32: tuple[tensors.StoredResult, ...] = ()
    length: int = 0


def ask_for_inputs(file: Path, function: str, folder: Path) -> None:
    """Import a file and keep the inputs that a function of it makes."""
    import torch

    start_evaluator(folder)
    module = tensors.import_file(file, "kvtrace_candidate")
    torch.manual_seed(0)  # inputs that the candidate's file makes are known to it
    write_cases(folder, [_made(getattr(module, function), folder)])


def prepare(
    request: Request, folder: Path, asked: Path | None, names: Sequence[str],
    blocks: Sequence[int], numbers: Sequence[int], seed: Path,
) -> None:  # fmt: skip
    """Make all cases and what the reference gives for them.

    Args:
        request: What is judged.
        folder: Where cases, contents and results are left.
        asked: Where `ask_for_inputs` has left inputs; None: it was not asked.
        names: Parameters of what is called.
        blocks: Sizes that blocks may have.
        numbers: Other whole numbers of the file.
        seed: The file of what values are drawn from.

    """
    from kvtrace.addons.judge.moves import IgnoredIndices

    start_evaluator(folder)
    drawn_from = seed_torch(seed)
    reference = None if request.reference is None else Reference(request.reference, folder)
    given = _given(request, reference, folder, asked, names)
    weights = () if reference is None else reference.weights(folder)
    named = _named_extents(request, reference, asked)
    maker = CaseMaker(folder, weights, drawn_from, named_extents=named)
    cases = [maker.filled(*each) for each in given]
    further = len(given) == 1 or request.trace is not None
    if further:
        cases += maker.further(cases[0], request.views, blocks, numbers)
    kept: list[Case] = []
    shapes: list[Any] = []
    ignored = IgnoredIndices()
    for number, case in enumerate(cases):
        try:
            if reference is not None:
                with nullcontext() if number else ignored:
                    _, results, changed = reference.own(case, folder)
                if changed and case.shares:
                    continue
                shapes.append([getattr(each, "shape", None) for each in results])
                if shapes[-1] == shapes[0] and _broadcasts(case, cases[0]):
                    continue
        except Exception as error:
            if case.kind in ("given", "values") and case.label not in REFUSABLE:
                raise CannotJudge(
                    f"the reference fails on {case.label}: {type(error).__name__}: {error}"
                ) from error
            continue  # chosen sizes may have no meaning
        if further and not number and reference is not None:
            cases += maker.ignoring(case, ignored.values)
            if not changed:
                cases += maker.tracked(case, results)
        kept.append(case)
    write_cases(folder, kept)


def _broadcasts(case: Case, given: Case) -> bool:
    """Whether an extent became 1 for one tensor while another tensor stayed as it was given.

    Where results keep their shapes, the reference repeats elements, which the given inputs do not
    ask for, and a kernel reads beyond them.
    """
    pairs = [*zip(case.inputs_of_tensors, given.inputs_of_tensors, strict=False)]  # and cotangents
    return (
        case.kind in ("sizes", BEYOND)
        and any(one.shape == other.shape for one, other in pairs)
        and any(1 in one.shape and 1 not in other.shape for one, other in pairs)
    )


def seed_torch(seed: Path) -> int:
    """Seed torch with a file's number, and return it."""
    import torch

    number = int(seed.read_text(encoding="ascii"), 16)
    torch.manual_seed(number % (1 << 63))
    return number


def start_evaluator(folder: Path) -> None:
    """Have kernels run here, and tensors for a GPU made on the CPU."""
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
            with suppress(TypeError, ValueError):  # what is not JSON, the candidate has to say
                (folder / INITIAL).write_text(json.dumps(list(initial)), encoding="utf-8")

    def inputs(self) -> Callable[..., Any] | None:
        """Return the function of its file that makes inputs."""
        found = next((n for n in INPUTS if callable(getattr(self.module, n, None))), None)
        return None if found is None else getattr(self.module, found)

    def weights(self, folder: Path) -> tuple[TensorInput, ...]:
        """Return what a model's weights are; their contents are kept in `folder`."""
        if not self.is_model:
            return ()
        found = []
        for number, (name, value) in enumerate(self.callable.state_dict().items()):
            made = tensors.input_of(value.contiguous().clone(), name)
            assert isinstance(made, TensorInput)
            file = f"weight{number}.bin"
            (folder / file).write_bytes(tensors.bytes_of(value))
            found.append(replace(made, file=file))
        return tuple(found)

    def own(self, case: Case, inputs: Path) -> tuple[list[Any], list[Any], tuple[str, ...]]:
        """Run it in the inputs' own types; return its inputs as they were, results, changed ones.

        Where it returns nothing, its results are the inputs that it writes to.
        """
        import torch

        arguments = tensors.arguments_from(case, inputs)
        before = [a.clone() if tensors.is_tensor(a) else a for a in arguments]
        if self.is_model:
            state = {each.name: tensors.tensor_from(each, inputs) for each in case.weights}
            self.callable.load_state_dict(state)
        with torch.no_grad():
            own = self._call(case, arguments)
        changed = tuple(
            each.name
            for each, old, new in zip(case.inputs, before, arguments, strict=True)
            if tensors.is_tensor(old) and not torch.equal(_bits(old), _bits(new))
        )
        if not own:
            own = [a for e, a in zip(case.inputs, arguments, strict=True) if e.name in changed]
        return before, own, changed

    def results(self, case: Case, inputs: Path, folder: Path, name: str) -> Expected:
        """Run it in float64 and in the inputs' own types; results are kept in `folder`."""
        import torch

        before, own, changed = self.own(case, inputs)
        with torch.no_grad():
            exact, in_float64 = self._exactly(case, before, own, changed)
            found = self._grants(case, before, own, changed, exact) if in_float64 else None
        grants = [] if found is None else found
        files = [f"granted{name}-{at}" for at in range(len(grants))]
        kept = [
            tuple(
                tensors.store_result(
                    torch.from_numpy(each[kind]), file, folder, f"{file}-{kind}.bin"
                )
                for file, each in zip(files, grants, strict=True)
            )
            for kind in range(2)
        ]
        return Expected(
            tuple(
                tensors.store_result(_tensor(each), str(at), folder, f"exact{name}-{at}.bin")
                for at, each in enumerate(exact)
            ),
            tuple(
                tensors.store_result(_tensor(each), str(at), folder, f"own{name}-{at}.bin")
                for at, each in enumerate(own)
            ),
            changed,
            in_float64,
            kept[0],
            kept[1],
            length=max((length for *_, length in grants), default=0),
        )

    def _grants(
        self, case: Case, before: Sequence[Any], own: Sequence[Any], changed: Sequence[str],
        exact: Sequence[Any],
    ) -> list[Grant] | None:  # fmt: skip
        """Measure what the case grants its results; None: that is not known."""
        if not exact or not all(map(tensors.is_tensor, (*exact, *own))):
            return None

        def results(draw: Draw) -> list[Numbers]:
            found, in_float64 = self._exactly(case, before, own, changed, draw)
            if not in_float64:
                raise Unmeasured
            return [as_numbers(_tensor(each)) for each in found]

        state = self.callable.state_dict().values() if self.is_model else ()
        floats = [
            (as_numbers(each), str(each.dtype).removeprefix("torch."))
            for each in (*before, *state)
            if tensors.is_floats(each)
        ]
        names = [str(each.dtype).removeprefix("torch.") for each in own]
        if any(name not in FLOATS for _, name in floats):
            return None
        mine = [(as_numbers(each), name) for each, name in zip(own, names, strict=True)]
        return grants_of(results, [as_numbers(each) for each in exact], mine, floats)

    def _exactly(
        self, case: Case, inputs: Sequence[Any], own: Sequence[Any], changed: Sequence[str],
        draw: Draw | None = None,
    ) -> tuple[list[Any], bool]:  # fmt: skip
        import copy

        import torch

        from kvtrace.addons.judge.moves import NarrowingDetector

        wide = [_moved(each, _wide(each), draw) for each in inputs]
        before = self.callable
        try:
            if self.is_model:
                self.callable = copy.deepcopy(before).double()
                wider = self.callable.state_dict()
                for name, narrow in before.state_dict().items():
                    each = wider[name]
                    each.copy_(_moved(narrow, each, draw))
            with NarrowingDetector() as narrowing:
                found = self._call(case, wide)
            if not found:
                found = [a for e, a in zip(case.inputs, wide, strict=True) if e.name in changed]
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return [torch.as_tensor(each) for each in own], False  # it insists on inputs' types
        else:
            return found, not narrowing.has_narrowed
        finally:
            self.callable = before

    def _call(self, case: Case, arguments: Sequence[Any]) -> list[Any]:
        return results_of_call(
            self.callable, arguments, tracked=case.tracked, cotangents=case.cotangents
        )


def _wide(value: Any) -> Any:
    if tensors.is_floats(value):
        return value.double()
    return value.clone() if tensors.is_tensor(value) else value


def _moved(given: Any, wide: Any, draw: Draw | None) -> Any:
    """Return a tensor in float64 as a draw moves it, within a share of its type's steps."""
    name = FLOATS.get(str(getattr(given, "dtype", "")).removeprefix("torch."))
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


def _given(
    request: Request, reference: Reference | None, folder: Path, asked: Path | None,
    names: Sequence[str],
) -> list[tuple[Case, Path | None]]:  # fmt: skip
    """Return the cases that are asked for, and where their contents are, if they have any."""
    if request.shapes:
        return [(Case(text, "given", parsed_shapes(text, names)), None) for text in request.shapes]
    if request.trace is not None and asked is not None:
        return [(case, asked) for case in read_cases(asked)]
    function = None if reference is None else reference.inputs()
    if function is not None:
        return [(_made(function, folder), folder)]
    if asked is not None:
        return [(read_cases(asked)[0], asked)]
    found = None
    if reference is not None and not reference.is_model:
        signature = inspect.signature(reference.callable)
        found = annotated({n: (p.annotation, p.default) for n, p in signature.parameters.items()})
    if found is None:
        raise CannotJudge(NO_INPUTS)
    return [(Case(label_of(found), "given", found), None)]


def _named_extents(request: Request, reference: Reference | None, asked: Path | None) -> bool:
    """Whether annotations say which extents are equal."""
    return (
        not request.shapes
        and asked is None
        and reference is not None
        and reference.inputs() is None
    )


def _made(function: Callable[..., Any], folder: Path) -> Case:
    values = function()
    if isinstance(values, dict):
        pairs = list(values.items())
    else:
        pairs = [(f"input{at}", value) for at, value in enumerate(values)]
    inputs: list[Input] = []
    for at, (name, value) in enumerate(pairs):
        made = tensors.input_of(value, str(name))
        if isinstance(made, TensorInput):
            made = replace(made, file=f"made{at}.bin")
            (folder / made.file).write_bytes(tensors.storage_bytes(value))
        inputs.append(made)
    return Case(label_of(inputs), "given", tuple(inputs))
