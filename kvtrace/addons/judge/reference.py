"""What runs in the reference's first process: inputs of all cases that the reference takes.

The candidate's file is never imported here. Where only that file says what its inputs are, another
process (`ask_for_inputs`) has left them, and they are taken as data. Right results are made after
the candidate's process has ended: see `answers.py`.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.fresh import (
    is_float,
    is_floats,
    is_integers,
    other_scalar,
    other_values,
)
from kvtrace.addons.judge.grants import Numbers, Unmeasured, as_numbers, grants_of
from kvtrace.addons.judge.inputs import (
    BEYOND,
    FEW,
    Case,
    Input,
    ScalarInput,
    TensorInput,
    annotated,
    as_views,
    drawn,
    exchanged_numbers,
    other_fractions,
    other_sizes,
    other_whole_numbers,
    parsed_shapes,
    read_cases,
    resized,
    unequal_extents,
    views_of,
    write_cases,
)
from kvtrace.addons.judge.request import INPUTS, NO_INPUTS, CannotJudge, Place, Request
from kvtrace.evaluate.condition import FLOATS, Draw
from kvtrace.evaluate.shadows.deviation.roundings import unit_of

#: What a model of the reference is made with.
INITIAL: Final = "initial.json"
#: Labels of the cases that differ from the given one in integers and booleans, and in floats.
OTHER_INTEGERS: Final = "other integers"
OTHER_VALUES: Final = "other values"
OTHER_SCALARS: Final = "other numbers"
#: Derived cases that reference or candidate may refuse, as other sizes.
REFUSABLE: Final = (OTHER_INTEGERS, OTHER_SCALARS)
_SEVERAL: Final = 2


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference says of a case.

    `exact` are results in float64, `own` those in the inputs' types; `changed` names the inputs
    that it writes to. `in_float64`: nothing was rounded to a narrower type on the way to `exact`.
    `granted`: how far right results may be off (empty: that is not known), and where dots cut their
    factors to tf32.
    """

    exact: tuple[tensors.Kept, ...]
    own: tuple[tensors.Kept, ...]
    changed: tuple[str, ...]
    in_float64: bool
    granted: tuple[tensors.Kept, ...] = ()
    granted_tf32: tuple[tensors.Kept, ...] = ()


def ask_for_inputs(file: Path, function: str, folder: Path) -> None:
    """Import a file and keep the inputs that a function of it makes."""
    import torch

    begin(folder)
    module = tensors.imported(file, "kvtrace_candidate")
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
    begin(folder)
    number = seeded(seed)
    reference = None if request.reference is None else Reference(request.reference, folder)
    given = _given(request, reference, folder, asked, names)
    weights = () if reference is None else reference.weights(folder)
    named = _named_extents(request, reference, asked)
    maker = _Maker(folder, weights, number, named_extents=named)
    cases = [maker.filled(*each) for each in given]
    if len(given) == 1 or request.trace is not None:
        cases += maker.further(cases[0], request.views, blocks, numbers)
    kept: list[Case] = []
    shapes: list[Any] = []
    for case in cases:
        try:
            if reference is not None:
                _, results, _ = reference.own(case, folder)
                shapes.append([getattr(each, "shape", None) for each in results])
                if shapes[-1] == shapes[0] and _broadcasts(case, cases[0]):
                    continue
        except Exception as error:
            if case.kind in ("given", "values") and case.label not in REFUSABLE:
                raise CannotJudge(
                    f"the reference fails on {case.label}: {type(error).__name__}: {error}"
                ) from error
            continue  # chosen sizes may have no meaning
        kept.append(case)
    write_cases(folder, kept)


def _broadcasts(case: Case, given: Case) -> bool:
    """Whether an extent became 1 for one tensor while another tensor stayed as it was given.

    Where results keep their shapes, the reference repeats elements, which the given inputs do not
    ask for, and a kernel reads beyond them.
    """
    pairs = [*zip(case.inputs_of_tensors, given.inputs_of_tensors, strict=True)]
    return (
        case.kind in ("sizes", BEYOND)
        and any(one.shape == other.shape for one, other in pairs)
        and any(1 in one.shape and 1 not in other.shape for one, other in pairs)
    )


def seeded(seed: Path) -> int:
    """Seed torch with a file's number, and return it."""
    import torch

    number = int(seed.read_text(encoding="ascii"), 16)
    torch.manual_seed(number % (1 << 63))
    return number


def begin(folder: Path) -> None:
    """Have kernels run here, and tensors for a GPU made on the CPU."""
    import torch

    from kvtrace.capture.api import start

    torch.set_num_threads(1)
    start(folder / "unused", compile="ttir", device="cpu", tensors="none", source="off")


class Reference:
    """A function or a model that gives the right results."""

    def __init__(self, place: Place, folder: Path) -> None:
        module = tensors.imported(place.file, "kvtrace_reference")
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
            own = self._call(arguments)
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
                tensors.kept(torch.from_numpy(each[kind]), file, folder, f"{file}-{kind}.bin")
                for file, each in zip(files, grants, strict=True)
            )
            for kind in range(2)
        ]
        return Expected(
            tuple(
                tensors.kept(_tensor(each), str(at), folder, f"exact{name}-{at}.bin")
                for at, each in enumerate(exact)
            ),
            tuple(
                tensors.kept(_tensor(each), str(at), folder, f"own{name}-{at}.bin")
                for at, each in enumerate(own)
            ),
            changed,
            in_float64,
            *kept,
        )

    def _grants(
        self, case: Case, before: Sequence[Any], own: Sequence[Any], changed: Sequence[str],
        exact: Sequence[Any],
    ) -> list[tuple[Numbers, Numbers]] | None:  # fmt: skip
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
            if tensors.is_tensor(each) and each.is_floating_point()
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

        from kvtrace.addons.judge.moves import Narrowing

        wide = [_moved(each, _wide(each), draw) for each in inputs]
        before = self.callable
        try:
            if self.is_model:
                self.callable = copy.deepcopy(before).double()
                wider = self.callable.state_dict()
                for name, narrow in before.state_dict().items():
                    each = wider[name]
                    each.copy_(_moved(narrow, each, draw))
            with Narrowing() as narrowing:
                found = self._call(wide)
            if not found:
                found = [a for e, a in zip(case.inputs, wide, strict=True) if e.name in changed]
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return [torch.as_tensor(each) for each in own], False  # it insists on inputs' types
        else:
            return found, not narrowing.seen
        finally:
            self.callable = before

    def _call(self, arguments: Sequence[Any]) -> list[Any]:
        return tensors.results_of(self.callable(*arguments))


def _wide(value: Any) -> Any:
    if tensors.is_tensor(value) and value.is_floating_point():
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
    return [(Case(_label(found), "given", found), None)]


def _elements(case: Case) -> tuple[bool, int]:
    """Return what cases are sorted by, as where calls are repeated (`calling.py`)."""
    sizes = [math.prod(each.shape) for each in case.tensors]
    return max(sizes, default=0) < FEW, sum(each.storage for each in case.tensors)


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
    return Case(_label(inputs), "given", tuple(inputs))


def _label(inputs: Sequence[Input]) -> str:
    short = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "bool": "b1"}
    eight = {"float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
    parts = []
    for each in inputs:
        if isinstance(each, ScalarInput):
            parts.append(f"{each.name}={each.value}")
            continue
        kind = each.dtype.rstrip("0123456789")
        dtype = short[kind] + each.dtype[len(kind) :] if kind in short else each.dtype
        dtype = eight.get(each.dtype, dtype)
        parts.append(f"{each.name}={dtype}[{', '.join(map(str, each.shape))}]")
    return ", ".join(parts)


class _Maker:
    """Makes cases with contents."""

    def __init__(
        self, folder: Path, weights: tuple[TensorInput, ...], seed: int, *, named_extents: bool
    ) -> None:  # fmt: skip
        self._folder = folder
        self._weights = weights
        self._named_extents = named_extents
        self._random = np.random.default_rng(seed)
        self._files = 0

    def filled(self, case: Case, source: Path | None) -> Case:
        """Return a given case with the contents that `source` has, or drawn ones."""
        inputs: list[Input] = []
        for each in case.inputs:
            if isinstance(each, TensorInput):
                if source is None or not each.file:
                    content = self._draw(each, case.inputs)
                else:
                    content = (source / each.file).read_bytes()
                inputs.append(self._keep(each, content))
            else:
                inputs.append(each)
        return replace(case, inputs=tuple(inputs), weights=self._weights)

    def further(
        self, base: Case, views: bool, blocks: Sequence[int], numbers: Sequence[int]
    ) -> list[Case]:  # fmt: skip
        """Return cases that follow from a given one: other values, views, other sizes."""
        fixed = [size for weight in self._weights for size in weight.shape]
        plain = resized(base.inputs, {})  # contiguous, without contents
        found = [self._other(base, OTHER_VALUES, floats=True)]
        if any(map(is_integers, base.inputs)):
            found.append(self._other(base, OTHER_INTEGERS, floats=False))
        scalars = [each.value for each in base.inputs if isinstance(each, ScalarInput)]
        if any(type(each) is float for each in scalars):
            found.append(self._with_other_scalars(base))
        if views:
            found += [
                self._like(base, as_views(plain, kind), f"{kind} views", "view")
                for kind in views_of(plain)
            ]
        for label, change in other_sizes(plain, fixed, blocks, numbers):
            found.append(self._like(base, resized(plain, change), label, "sizes"))
        small = min(found, key=lambda case: (case.kind != "sizes", _elements(case)))
        if small.kind == "sizes" and any(map(is_floats, small.inputs)):
            found.append(self._other(small, f"{small.label}, {OTHER_VALUES}", floats=True))
        for inputs in () if self._named_extents else unequal_extents(plain, fixed):
            found.append(self._like(base, inputs, f"unequal: {_label(inputs)}", BEYOND))
        numbers_changed = (other_whole_numbers, other_fractions, exchanged_numbers)
        for label, inputs in chain.from_iterable(each(base.inputs) for each in numbers_changed):
            found.append(Case(label, BEYOND, inputs, base.weights))
        return found

    def _other(self, base: Case, label: str, *, floats: bool) -> Case:
        """Return the given case with other floats, or other integers and booleans."""
        inputs: list[Input] = []
        for each in base.inputs:
            if isinstance(each, TensorInput) and is_float(each) == floats:
                content = (self._folder / each.file).read_bytes()
                inputs.append(self._keep(each, other_values(content, each, self._random)))
            else:
                inputs.append(each)
        kind = "values" if base.kind == "given" else base.kind
        return Case(label, kind, tuple(inputs), base.weights)

    def _with_other_scalars(self, base: Case) -> Case:
        """Return the given case with other numbers in place of floats outside of tensors."""
        inputs = [
            replace(each, value=other_scalar(each.value, self._random))
            if isinstance(each, ScalarInput) and type(each.value) is float
            else each
            for each in base.inputs
        ]
        return Case(OTHER_SCALARS, "values", tuple(inputs), base.weights)

    def _like(self, base: Case, inputs: Sequence[Input], label: str, kind: str) -> Case:
        """Fill inputs with values that the given case's tensors have."""
        filled: list[Input] = []
        sizes = [s for each in inputs if isinstance(each, TensorInput) for s in each.shape]
        for each, like in zip(inputs, base.inputs, strict=True):
            if not isinstance(each, TensorInput):
                filled.append(each)
                continue
            assert isinstance(like, TensorInput)
            filled.append(self._keep(each, self._resampled(each, like, kind, min(sizes))))
        return Case(label, kind, tuple(filled), base.weights)

    def _resampled(self, wanted: TensorInput, like: TensorInput, kind: str, smallest: int) -> bytes:
        import torch

        source = tensors.tensor_from(like, self._folder).contiguous().reshape(-1)
        count = source.numel()
        if not count or not wanted.storage:
            return bytes(wanted.storage * source.element_size())
        other = kind in ("sizes", BEYOND)
        if not source.is_floating_point() and not other:
            # whole numbers may be offsets or indices in an order that matters: they stay
            whole = torch.zeros(wanted.storage, dtype=source.dtype)
            whole.as_strided(wanted.shape, wanted.strides, wanted.offset).copy_(
                source.reshape(wanted.shape)
            )
            return tensors.bytes_of(whole)
        if wanted.storage == count:
            places = self._random.permutation(count)
        else:
            places = self._random.integers(0, count, wanted.storage)
        bits = source.view(torch.uint8) if source.element_size() == 1 else source
        chosen = bits[torch.from_numpy(places)].view(source.dtype)
        if other and not source.is_floating_point() and source.dtype != torch.bool:
            chosen = chosen % max(smallest, 1)
        return tensors.bytes_of(chosen)

    def _draw(self, tensor: TensorInput, inputs: Sequence[Input]) -> bytes:
        import torch

        sizes = {
            f"{each.name}.{axis}": size
            for each in inputs
            if isinstance(each, TensorInput)
            for axis, size in enumerate(each.shape)
        }
        values = torch.from_numpy(drawn(tensor, self._random, sizes))
        return tensors.bytes_of(values.to(getattr(torch, tensor.dtype)))

    def _keep(self, tensor: TensorInput, content: bytes) -> TensorInput:
        self._files += 1
        file = f"input{self._files}.bin"
        (self._folder / file).write_bytes(content)
        return replace(tensor, file=file)
