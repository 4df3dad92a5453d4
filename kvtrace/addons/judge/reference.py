"""The reference, which gives right results: in float64, and in the types of the inputs."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge import tensors
from kvtrace.addons.judge.gradients import results_of_call
from kvtrace.addons.judge.grants import CannotMeasure, Grant, Numbers, as_numbers, grants_of
from kvtrace.addons.judge.request import INITIAL, INPUTS, Place
from kvtrace.backends.triton.log_sums import by_log_sums
from kvtrace.evaluate.condition import FLOATS, Draw
from kvtrace.evaluate.shadows.errors.roundings import unit_of
from kvtrace.inputs.cases import Case, TensorInput

#: The function of a reference's file that says how exact the reference is in float64. It is called
#: as the reference is, and its results are distances from what is meant: those of a formula with
#: rounded constants, for example.
INEXACT: Final = "inexact"
#: Grants are measured of references that work at most so much, a second: they are called 100 times.
_MOST_MEASURED_WORK: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's results for a case.

    `exact`: results in float64. `native`: results in the inputs' types. `changed`: names of inputs
    that the reference writes to. `in_float64`: `exact` was computed without rounding to a narrower
    type. `granted`: allowed errors of results (`grants.py`), empty if not known; `granted_tf32`:
    the same if dots round their factors to tf32. `length`: the number of inputs that an element of
    a result is made of, as measured; 0 if not known. `work`: the work of the call in the inputs'
    types (`WorkCounter`). `inexact`: distances of `exact` from what is
    meant, by the reference's own function; empty if it has none.
    """

    exact: tuple[tensors.StoredResult, ...]
    native: tuple[tensors.StoredResult, ...]
    changed: tuple[str, ...]
    in_float64: bool
    granted: tuple[tensors.StoredResult, ...] = ()
    granted_tf32: tuple[tensors.StoredResult, ...] = ()
    length: int = 0
    work: int = 0
    inexact: tuple[tensors.StoredResult, ...] = ()


def seed_torch(seed: Path) -> int:
    """Seed torch with the hexadecimal number in a file, and return the number."""
    import torch

    number = int(seed.read_text(encoding="ascii"), 16)
    torch.manual_seed(number % (1 << 63))
    return number


def start_evaluator(folder: Path) -> None:
    """Start a recording without tensors, so that kernels run in the evaluator, without a GPU."""
    import torch

    from kvtrace.capture.api import start

    torch.set_num_threads(1)
    start(folder / "unused", compile="ttir", device="cpu", tensors="none", source="off")


class Reference:
    """The function or model of the reference's file, which gives the right results."""

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
        """Return the function of the reference's file that makes inputs, or None."""
        name = next((n for n in INPUTS if callable(getattr(self.module, n, None))), None)
        return None if name is None else getattr(self.module, name)

    def weights(self, folder: Path) -> tuple[TensorInput, ...]:
        """Write a model's weights into files of a folder, and return their descriptions."""
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
        """Run the reference in the inputs' types.

        Returns copies of the arguments from before, the results, and the names of changed inputs.
        If the reference returns nothing, its results are the changed inputs.
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
            for entry, value_before, value_after in zip(case.inputs, before, arguments, strict=True)
            if tensors.is_tensor(value_before)
            and tensors.bytes_of(value_before) != tensors.bytes_of(value_after)
        )
        if not results:
            results = [
                a for entry, a in zip(case.inputs, arguments, strict=True) if entry.name in changed
            ]
        return before, results, changed

    def results(
        self, case: Case, inputs: Path, folder: Path, name: str, *, measures: bool = True
    ) -> Expected:  # fmt: skip
        """Run the reference in float64 and in the inputs' types, and measure grants if asked to.

        Writes the results into files of `folder` whose names contain `name`. No grants are measured
        of a reference that works very much.
        """
        import torch

        from kvtrace.addons.judge.moves import WorkCounter

        with WorkCounter() as counter:
            before, native, changed = self.run(case, inputs)
        measures = measures and counter.work <= _MOST_MEASURED_WORK
        with torch.no_grad():
            exact, in_float64 = self._results_in_float64(case, before, native, changed)
            grants = (
                self._grants(case, before, native, changed, exact)
                if in_float64 and measures
                else None
            ) or []
        distances = self._distances(case, before, changed) if in_float64 else ()

        def stored(kind: str, values: Iterable[Any]) -> tuple[tensors.StoredResult, ...]:
            return tuple(
                tensors.store_result(_as_tensor(value), folder, f"{kind}{name}-{at}.bin")
                for at, value in enumerate(values)
            )

        return Expected(
            stored("exact", exact),
            stored("own", native),
            changed,
            in_float64,
            stored("granted", (allowed for allowed, _, _ in grants)),
            stored("tf32", (allowed for _, allowed, _ in grants)),
            length=max((length for *_, length in grants), default=0),
            work=counter.work,
            inexact=stored("inexact", distances),
        )

    def _distances(self, case: Case, inputs: Sequence[Any], changed: Sequence[str]) -> list[Any]:
        """Return how far each result in float64 may be from what is meant; [] if not said."""
        function = getattr(self.module, INEXACT, None)
        if function is None or case.cotangents:
            return []
        wide_inputs = [_in_float64(value) for value in inputs]
        return results_of_call(function, wide_inputs, tracked=False, cotangents=0) or [
            value
            for entry, value in zip(case.inputs, wide_inputs, strict=True)
            if entry.name in changed
        ]

    def _grants(
        self, case: Case, before: Sequence[Any], native: Sequence[Any], changed: Sequence[str],
        exact: Sequence[Any],
    ) -> list[Grant] | None:  # fmt: skip
        """Measure the errors that a case grants its results; None if that is not possible."""
        if not exact or not all(map(tensors.is_tensor, (*exact, *native))):
            return None

        def results(draw: Draw) -> list[Numbers]:
            moved_results, in_float64 = self._results_in_float64(
                case, before, native, changed, draw
            )
            if not in_float64:
                raise CannotMeasure
            return [as_numbers(_as_tensor(result)) for result in moved_results]

        def losses(draw: Draw) -> tuple[list[Numbers], list[Numbers]]:
            def moved(value: Any, own: Draw) -> Any:
                return _slightly_changed(value, _in_float64(value), own, unit=1.0).to(value.dtype)

            def results_moved_by(own: Draw, *, wide: bool) -> list[Numbers]:
                moves = partial(moved, own=own)
                moved_results = self._results(case, before, changed, moves, wide=wide)[1]
                return [as_numbers(_as_tensor(result)) for result in moved_results]

            # A draw moves numbers in another way each time, and both have to be moved in one way.
            with by_log_sums():
                native_results = results_moved_by(copy.deepcopy(draw), wide=False)
            return native_results, results_moved_by(draw, wide=True)

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
        exact_values = [as_numbers(result) for result in exact]
        return grants_of(results, exact_values, losses, native_values, floats)

    def _results_in_float64(
        self, case: Case, inputs: Sequence[Any], native: Sequence[Any], changed: Sequence[str],
        draw: Draw | None = None,
    ) -> tuple[list[Any], bool]:  # fmt: skip
        import torch

        try:
            has_narrowed, results = self._results(
                case, inputs, changed,
                lambda value: _slightly_changed(value, _in_float64(value), draw), wide=True,
            )  # fmt: skip
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            return [torch.as_tensor(result) for result in native], False  # it takes no float64
        return results, not has_narrowed

    def _results(
        self, case: Case, inputs: Sequence[Any], changed: Sequence[str],
        moved: Callable[[Any], Any], *, wide: bool,
    ) -> tuple[bool, list[Any]]:  # fmt: skip
        """Return whether floats were narrowed, and the results for moved tensors of floats.

        The reference computes in float64 with `wide`, else in the inputs' types.
        """
        from kvtrace.addons.judge.moves import NarrowingDetector

        def changed_value(value: Any) -> Any:
            if not tensors.is_floats(value):
                return _in_float64(value)
            return moved(value).double() if wide else moved(value)

        arguments = [changed_value(value) for value in inputs]
        model = self.callable
        try:
            if self.is_model:
                self.callable = copy.deepcopy(model)
                self.callable = self.callable.double() if wide else self.callable
                state = self.callable.state_dict()
                for name, weight in model.state_dict().items():
                    state[name].copy_(changed_value(weight))
            with NarrowingDetector() as narrowing:
                results = self._call(case, arguments)
            if not results:
                results = [
                    a
                    for entry, a in zip(case.inputs, arguments, strict=True)
                    if entry.name in changed
                ]
        finally:
            self.callable = model
        return narrowing.has_narrowed, results

    def _call(self, case: Case, arguments: Sequence[Any]) -> list[Any]:
        return results_of_call(
            self.callable, arguments, tracked=case.tracked, cotangents=case.cotangents
        )


def _in_float64(value: Any) -> Any:
    if tensors.is_floats(value):
        return value.double()
    return value.clone() if tensors.is_tensor(value) else value


def _slightly_changed(
    original: Any, wide: Any, draw: Draw | None, *, unit: float | None = None
) -> Any:
    """Return `wide`, changed by a draw within the rounding of the type of `original`.

    `wide` is `original` in float64; without a draw, it is returned unchanged. `unit` is the largest
    relative move that the draw takes a share of; None: that of rounding to the type.
    """
    name = FLOATS.get(str(getattr(original, "dtype", "")).removeprefix("torch."))
    if draw is None or name is None:
        return wide
    import torch

    unit = unit_of(name) if unit is None else unit
    return torch.from_numpy(draw.moved(wide.numpy(), unit).copy()).reshape(wide.shape)


def _as_tensor(value: Any) -> Any:
    import torch

    return value.detach() if tensors.is_tensor(value) else torch.as_tensor(value)
