"""Creation of a judgment's cases: the given inputs, and other values, views and sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.inputs.cases import (
    BEYOND,
    BYTES,
    EPSILON,
    FEW,
    Case,
    Input,
    ScalarInput,
    TensorInput,
    contiguous_strides,
    label_of,
    numpy_dtype,
    strided,
    whole_tensor,
)
from kvtrace.inputs.sizes import (
    extreme_sizes,
    grouped_sizes,
    other_scalars,
    other_sizes,
    probing_sizes,
    resized_inputs,
    smaller_sizes,
    unequal_extents,
    wide_rows,
)
from kvtrace.inputs.values import (
    drawn_values,
    is_float,
    is_floats,
    is_integers,
    other_scalar,
    other_values,
)

#: Axes that a tensor needs for views of a kind; elements between rows of padded views.
_LEAST_AXES: Final = {
    "strided": 1, "offset": 1, "transposed": 2, "padded": 2, "expanded": 2, "reversed": 3
}  # fmt: skip
_PADDING: Final = 3
_MOST_MIXED: Final = 6


def views_of(inputs: Sequence[Input]) -> Iterator[tuple[str, tuple[Input, ...]]]:
    """Yield label and inputs as views: all of one kind, one tensor at a time, and mixed kinds.

    A kernel that uses the strides of one tensor for another is right while both have equal ones.
    In the mixed views any two of the first tensors differ in some case, in either order.
    """
    tensors = [at for at, entry in enumerate(inputs) if isinstance(entry, TensorInput)]
    axes = max((len(inputs[at].shape) for at in tensors), default=0)  # type: ignore[union-attr]
    kinds = [kind for kind, least in _LEAST_AXES.items() if axes >= least]
    for kind in kinds:
        yield f"{kind} views", tuple(as_view(entry, kind) for entry in inputs)
    if len(tensors) < 2:
        return
    alone = [kind for kind in ("transposed", "padded", "strided") if kind in kinds][:2]
    yielded = {inputs}
    for at in tensors[:_MOST_MIXED]:
        for kind in alone:
            view = (*inputs[:at], as_view(inputs[at], kind), *inputs[at + 1 :])
            if view not in yielded:
                yielded.add(view)
                yield f"{inputs[at].name} alone as a {kind} view", view
    mixed = ["", *alone]
    for number in range(len(mixed)):
        chosen = {at: mixed[(number + rank) % len(mixed)] for rank, at in enumerate(tensors)}
        view = tuple(as_view(entry, chosen.get(at, "")) for at, entry in enumerate(inputs))
        if view not in yielded:
            yielded.add(view)
            yield f"mixed views {number + 1}", view


def as_view(entry: Input, kind: str) -> Input:
    """Return a tensor as a view of one kind; scalars and tensors with too few axes stay.

    `strided`: every other element of a storage. `offset`: from the fourth element on. `transposed`:
    the last two axes exchanged. `reversed`: the first axis innermost. `padded`: gaps between rows.
    `expanded`: floats that are the same along the first axis. "": the tensor itself.
    """
    if not kind or not isinstance(entry, TensorInput) or len(entry.shape) < _LEAST_AXES[kind]:
        return entry
    shape = entry.shape
    if kind == "reversed":
        return replace(entry, strides=contiguous_strides(shape[::-1])[::-1])
    if kind == "padded":
        strides = contiguous_strides((*shape[:-1], shape[-1] + _PADDING))
        return replace(
            entry, strides=strides, storage=math.prod(shape[:-1]) * (shape[-1] + _PADDING)
        )
    if kind == "expanded":
        if not entry.dtype.startswith(("float", "bfloat")):
            return entry
        return replace(entry, strides=(0, *entry.strides[1:]), storage=math.prod(shape[1:]))
    if kind == "strided":
        strides = tuple(2 * step for step in entry.strides)
        return replace(entry, strides=strides, storage=2 * entry.storage + 2)
    if kind == "transposed":
        strides = contiguous_strides((*shape[:-2], *shape[:-3:-1]))
        return replace(entry, strides=(*strides[:-2], *strides[:-3:-1]))
    return replace(entry, offset=3, storage=entry.storage + 7)


#: Labels of the cases that differ from the given one in integers and booleans, and in floats.
OTHER_INTEGERS: Final = "other integers"
OTHER_VALUES: Final = "other values"
OTHER_SCALARS: Final = "other numbers"
#: Derived cases that reference or candidate may refuse, as they may refuse other sizes.
_REFUSABLE: Final = (OTHER_INTEGERS, OTHER_SCALARS)
_IGNORED_SHARE: Final = 1 / 4


def must_be_accepted(case: Case) -> bool:
    """Return whether a case may not be refused: given inputs, or other values of them."""
    return case.kind in ("given", "values") and case.label not in _REFUSABLE


class CaseMaker:
    """Creates a judgment's cases, and writes the contents of their tensors into `folder`.

    Args:
        folder: The folder for contents.
        weights: Weights of a model; () for functions.
        seed: The seed of drawn values.
        named_extents: Annotations say which extents are equal, so that others are not tried.
        fixed: Extents that annotations state as numbers.
    """

    def __init__(
        self, folder: Path, weights: tuple[TensorInput, ...], seed: int, *, named_extents: bool,
        fixed: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self._folder = folder
        self._weights = weights
        self._named_extents = named_extents
        self._fixed = [size for weight in weights for size in weight.shape] + [*fixed]
        self._random = np.random.default_rng(seed)
        self._files = 0
        #: The extent that integers of a tensor may reach, by the tensor's number among the inputs.
        self.bounds: dict[int, int] = {}

    def fill(self, case: Case, source: Path | None) -> Case:
        """Return the case with stored contents: copied from `source`, or drawn if it has none."""
        inputs: list[Input] = []
        for entry in case.inputs:
            if isinstance(entry, TensorInput):
                if source is None or not entry.file:
                    content = self._draw(entry, case.inputs)
                    entry = replace(entry, is_drawn=True)
                else:
                    content = (source / entry.file).read_bytes()
                inputs.append(self._store_content(entry, content))
            else:
                inputs.append(entry)
        return replace(case, inputs=tuple(inputs), weights=self._weights)

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield the case with smaller extents, if it has extents that may change."""
        change = smaller_sizes(case.inputs, self._fixed)
        if change:
            inputs = resized_inputs(case.inputs, change)
            yield self.fill(Case(label_of(inputs), "given", inputs), None)

    def probes_of_integers(self, case: Case) -> Iterator[tuple[int, int, Case, Case]]:
        """Yield pairs of cases that differ in the integers of one tensor alone.

        Each comes with the tensor's number and an extent: in the first case the integers are below
        half of the extent, in the second they lie in its upper half. Other extents are small.
        """
        plain = resized_inputs(case.inputs, {})
        for number, entry in enumerate(plain):
            if not isinstance(entry, TensorInput) or not _may_be_positions(entry):
                continue
            for extent, change in probing_sizes(plain, self._fixed, entry.shape):
                probe = self._resampled_case(case, resized_inputs(plain, change), "", "sizes")
                tensor = probe.inputs[number]
                assert isinstance(tensor, TensorInput)
                half = change.get(extent, extent) // 2
                pair = []
                for low in (0, half):
                    values = np.sort(self._random.integers(low, low + max(half, 1), tensor.storage))
                    content = values.astype(numpy_dtype(tensor.dtype)).tobytes()
                    inputs = [*probe.inputs]
                    inputs[number] = self._store_content(tensor, content)
                    pair.append(replace(probe, inputs=tuple(inputs)))
                yield number, extent, pair[0], pair[1]

    def grouped(self, case: Case) -> Iterator[Case]:
        """Yield the case with extents that are multiples of each other, as groups of heads are."""
        for change in grouped_sizes(case.inputs, self._fixed):
            inputs = resized_inputs(case.inputs, change)
            yield self.fill(Case(label_of(inputs), "given", inputs), None)

    def derived_cases(
        self, base: Case, views: bool, blocks: Sequence[int], numbers: Sequence[int]
    ) -> list[Case]:  # fmt: skip
        """Return the cases derived from a given case: other values, views, sizes and scalars.

        `views`: also try views. `blocks` and `numbers` are integers of the file to choose sizes by.
        """
        fixed = self._fixed
        plain = resized_inputs(base.inputs, {})  # contiguous, without contents
        cases = [self._with_other_values(base, OTHER_VALUES, floats=True)]
        if any(map(is_integers, base.inputs)):
            cases.append(self._with_other_values(base, OTHER_INTEGERS, floats=False))
        scalars = [entry.value for entry in base.inputs if isinstance(entry, ScalarInput)]
        if any(type(scalar) is float for scalar in scalars):
            cases.append(self._with_other_scalars(base))
        if views:
            cases += [
                self._resampled_case(base, inputs, label, "view")
                for label, inputs in views_of(plain)
            ]
        for label, change in other_sizes(plain, fixed, blocks, numbers):
            cases.append(self._resampled_case(base, resized_inputs(plain, change), label, "sizes"))
        smallest = min(cases, key=lambda case: (case.kind != "sizes", _size_key(case)))
        if smallest.kind == "sizes" and any(map(is_floats, smallest.inputs)):
            cases.append(
                self._with_other_values(smallest, f"{smallest.label}, {OTHER_VALUES}", floats=True)
            )
        for inputs in () if self._named_extents else unequal_extents(plain, fixed):
            cases.append(self._resampled_case(base, inputs, f"unequal: {label_of(inputs)}", BEYOND))
        for label, inputs in other_scalars(base.inputs):
            cases.append(Case(label, BEYOND, inputs, base.weights))
        for label, kind, change in extreme_sizes(plain, fixed):
            if not self._leaves_places_without_any(plain, change):
                cases.append(self._resampled_case(base, resized_inputs(plain, change), label, kind))
        return [*cases, *self._largest_bytes(base, plain, fixed), *self._cases_beyond_given(base)]

    def _leaves_places_without_any(
        self, inputs: Sequence[Input], change: Mapping[int, int]
    ) -> bool:
        """Return whether a change removes all elements that integers of another tensor count.

        A reference may accept row numbers of a table without rows, as PyTorch's `index_add` does.
        """
        counted = ((inputs[number], extent) for number, extent in self.bounds.items())
        return any(
            change.get(extent) == 0 and isinstance(entry, TensorInput) and extent not in entry.shape
            for entry, extent in counted
        )

    def _largest_bytes(
        self, base: Case, plain: Sequence[Input], fixed: Sequence[int]
    ) -> Iterator[Case]:  # fmt: skip
        """Yield a case whose rows of bytes are wide and have the largest value throughout.

        Their sums need more than 16 bits.
        """
        change = wide_rows(plain, fixed)
        if not change:
            return
        case = self._resampled_case(
            base, resized_inputs(plain, change), "wide rows of the largest bytes", "sizes"
        )
        inputs = [
            self._store_content(entry, bytes([BYTES[entry.dtype][1] - 1]) * entry.storage)
            if isinstance(entry, TensorInput) and entry.dtype in BYTES
            else entry
            for entry in case.inputs
        ]
        yield replace(case, inputs=tuple(inputs))

    def _cases_beyond_given(self, base: Case) -> Iterator[Case]:
        """Yield a case with one tensor as several inputs, and a case with new weights."""
        by_layout: dict[tuple[Any, ...], TensorInput] = {}
        inputs = tuple(
            replace(by_layout.setdefault((e.dtype, e.shape, e.strides, e.offset, e.storage), e),
                    name=e.name)
            if isinstance(e, TensorInput) else e
            for e in base.inputs
        )  # fmt: skip
        if inputs != base.inputs:
            yield Case("one tensor as several inputs", BEYOND, inputs, base.weights)
        floats = [entry for entry in base.weights if is_float(entry)]
        if floats:
            weights = tuple(self._with_new_values(e) if e in floats else e for e in base.weights)
            yield Case("weights loaded after calls", BEYOND, base.inputs, weights)

    def cases_of_ignored_values(self, base: Case, values: Sequence[int]) -> Iterator[Case]:
        """Yield a case for each of `values`: some integers are replaced by the value.

        These are values that the reference ignores, such as labels of padding.
        """
        for value in values:
            inputs: list[Input] = []
            for entry in base.inputs:
                if isinstance(entry, TensorInput) and is_integers(entry) and entry.dtype != "bool":
                    elements = self._stored_values(entry)
                    elements[self._random.random(entry.storage) < _IGNORED_SHARE] = value
                    inputs.append(self._store_content(entry, elements.tobytes()))
                else:
                    inputs.append(entry)
            yield Case(f"some integers are {value}", BEYOND, tuple(inputs), base.weights)

    def gradient_cases(
        self, base: Case, results: Sequence[tuple[str, tuple[int, ...]]]
    ) -> Iterator[Case]:
        """Yield the case with inputs that require gradients, and one whose results are gradients.

        `results` are types and shapes of the reference's results, which are those of cotangents.
        """
        if not any(map(is_floats, base.inputs)):
            return
        yield replace(
            base, label="inputs that require gradients", kind=BEYOND, tracked=True
        )  # fmt: skip
        cotangents: list[Input] = []
        for at, (dtype, shape) in enumerate(results):
            if dtype in EPSILON:
                cotangent = whole_tensor(f"gradient of result {at}", dtype, shape)
                cotangents.append(self._store_content(cotangent, self._draw(cotangent, ())))
        if cotangents:
            yield replace(
                base, label="gradients of the inputs", kind=BEYOND,
                inputs=(*base.inputs, *cotangents), tracked=True, cotangents=len(cotangents),
            )  # fmt: skip

    def _with_new_values(self, entry: TensorInput) -> TensorInput:
        content = (self._folder / entry.file).read_bytes()
        return self._store_content(entry, other_values(content, entry, self._random))

    def _with_other_values(self, base: Case, label: str, *, floats: bool) -> Case:
        """Return the case with new values in tensors of floats, or without `floats` in others."""
        inputs: list[Input] = []
        for entry in base.inputs:
            if isinstance(entry, TensorInput) and is_float(entry) == floats:
                inputs.append(self._with_new_values(entry))
            else:
                inputs.append(entry)
        kind = "values" if base.kind == "given" else base.kind
        return Case(label, kind, tuple(inputs), base.weights)

    def _with_other_scalars(self, base: Case) -> Case:
        inputs = [
            replace(entry, value=other_scalar(entry.value, self._random))
            if isinstance(entry, ScalarInput) and type(entry.value) is float
            else entry
            for entry in base.inputs
        ]
        return Case(OTHER_SCALARS, "values", tuple(inputs), base.weights)

    def _resampled_case(self, base: Case, inputs: Sequence[Input], label: str, kind: str) -> Case:
        """Return a case of `inputs` whose tensors have values drawn from those of `base`."""
        filled: list[Input] = []
        sizes = [s for entry in inputs if isinstance(entry, TensorInput) for s in entry.shape]
        reaching = self._reaching(base, inputs, min(sizes, default=0)) if kind == "sizes" else {}
        for number, (entry, base_input) in enumerate(zip(inputs, base.inputs, strict=True)):
            if not isinstance(entry, TensorInput):
                filled.append(entry)
                continue
            assert isinstance(base_input, TensorInput)
            content = self._resampled(entry, base_input, kind, min(sizes), reaching.get(number))
            filled.append(self._store_content(entry, content))
        return Case(label, kind, tuple(filled), base.weights)

    def _reaching(self, base: Case, inputs: Sequence[Input], smallest: int) -> dict[int, Any]:
        """Return integers of tensors with bounds, by the tensors' numbers.

        At each position one of the tensors reaches its bound. The others are small there, so that
        sums of both, as of starts and lengths, stay below the bound.
        """
        axes = [
            pair
            for old, new in zip(base.inputs, inputs, strict=True)
            if isinstance(old, TensorInput) and isinstance(new, TensorInput)
            for pair in zip(old.shape, new.shape, strict=True)
        ]
        integers = {}
        for rank, (number, bound) in enumerate(self.bounds.items()):
            extent = next(size for old_size, size in axes if old_size == bound)
            rest = min(smallest, extent // 4) if len(self.bounds) > 1 else 0
            entry = inputs[number]
            assert isinstance(entry, TensorInput)
            is_large = np.arange(entry.storage) % len(self.bounds) == rank
            limits = np.where(is_large, extent - rest, rest)
            integers[number] = self._random.integers(0, np.maximum(limits, 1))
        return integers

    def _resampled(
        self, tensor: TensorInput, base: TensorInput, kind: str, smallest: int,
        reaching: NDArray[np.int64] | None = None,
    ) -> bytes:  # fmt: skip
        source = strided(self._stored_values(base), base.shape, base.strides, base.offset).ravel()
        if not source.size or not tensor.storage:
            return bytes(tensor.storage * source.itemsize)
        changes_size = kind in ("sizes", BEYOND)
        if not is_float(base) and not changes_size:
            # integers may be offsets or indices in an order that matters
            values = np.zeros(tensor.storage, source.dtype)
            view = strided(values, tensor.shape, tensor.strides, tensor.offset)
            view[...] = source.reshape(tensor.shape)
            return values.tobytes()
        if tensor.storage == source.size:
            positions = self._random.permutation(source.size)
        else:
            positions = self._random.integers(0, source.size, tensor.storage)
        values = source[positions]
        if changes_size and tensor.storage != source.size and _are_distinct_reals(source):
            values = self._between(source, values)
        if changes_size and _may_be_positions(base):
            largest = int(np.iinfo(source.dtype).max)
            if reaching is None:
                values = values % source.dtype.type(min(max(smallest, 1), largest))
            else:
                values = np.minimum(reaching, largest).astype(source.dtype)
        if base.dtype not in EPSILON and len(base.shape) == 1 and _ascends(source):
            values.sort()
            values[:1] = source[0]
        return values.tobytes()

    def _between(self, source: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        """Return as many numbers between those of `source`, which are hardly ever equal.

        Of equal numbers several indices may be right. None is closer to zero than all of `source`:
        there `values` stay.
        """
        places = self._random.uniform(0, source.size - 1, values.size)
        drawn = np.interp(places, np.arange(source.size), np.sort(source)).astype(source.dtype)
        return np.where(np.abs(drawn) < np.abs(source).min(), values, drawn)

    def _stored_values(self, tensor: TensorInput) -> NDArray[Any]:
        """Return a writable array of the elements of a tensor's storage."""
        content = (self._folder / tensor.file).read_bytes()
        return np.frombuffer(content, numpy_dtype(tensor.dtype)).copy()

    def _draw(self, tensor: TensorInput, inputs: Sequence[Input]) -> bytes:
        sizes = [n for entry in inputs if isinstance(entry, TensorInput) for n in entry.shape if n]
        values = drawn_values(tensor, self._random, min(sizes, default=100))
        return values.astype(numpy_dtype(tensor.dtype)).tobytes()

    def _store_content(self, tensor: TensorInput, content: bytes) -> TensorInput:
        self._files += 1
        file = f"input{self._files}.bin"
        (self._folder / file).write_bytes(content)
        return replace(tensor, file=file)


def _may_be_positions(tensor: TensorInput) -> bool:
    """Return whether integers of a tensor may be positions or lengths: none of one byte are."""
    return is_integers(tensor) and tensor.dtype not in ("bool", *BYTES) and tensor.storage > 0


def _are_distinct_reals(values: NDArray[Any]) -> bool:
    """Return whether values are finite floats of 32 or 64 bits, no two equal, and not all whole."""
    return (
        values.dtype.kind == "f"
        and values.dtype.itemsize > 2
        and bool(np.isfinite(values).all())
        and np.unique(values).size == values.size
        and not bool((values == np.rint(values)).all())
    )


def _ascends(values: NDArray[Any]) -> bool:
    return values.size > 1 and values.dtype != np.bool_ and bool((np.diff(values) >= 0).all())


def _size_key(case: Case) -> tuple[bool, int]:
    """Return a sort key by size in elements, tiny cases last; `calling.py` sorts similarly."""
    sizes = [math.prod(entry.shape) for entry in case.tensors]
    return max(sizes, default=0) < FEW, sum(entry.storage for entry in case.tensors)
