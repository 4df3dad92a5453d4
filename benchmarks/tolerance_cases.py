"""Cases for derived tolerances: a launch, a reference, and the tolerance of the kernel's test."""

import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.tolerance_mutants import Mutant
from kvtrace.addons.tolerance.deriving import derive
from kvtrace.addons.tolerance.launched import recorded_launches
from kvtrace.addons.tolerance.outputs import Output, Tolerance
from kvtrace.addons.tolerance.references import ReferenceResults
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings
from kvtrace.recorded_calls.recorded import Call

ROOT = Path(__file__).resolve().parents[1]
#: Below this, whatever the ratio says, FLA's comparison passes.
FLA_LEAST = 1e-6


@dataclass(frozen=True)
class HandTolerance:
    """Tolerance of a test, as torch compares, or (`ratio`) by root mean squares as in FLA."""

    atol: float = 0.0
    rtol: float = 0.0
    ratio: float = 0.0

    def __str__(self) -> str:
        if self.ratio:
            return f"{self.ratio:.0e} rms"
        return f"{self.atol:.0e} + {self.rtol:.0e}|x|"

    def passes(self, actual: np.ndarray, wanted: np.ndarray) -> bool:
        """Return whether the test accepts a result."""
        if not self.ratio:
            return bool(np.allclose(actual, wanted, atol=self.atol, rtol=self.rtol, equal_nan=True))
        off = np.abs(actual - wanted)
        if off.max(initial=0.0) <= FLA_LEAST:
            return True
        return bool(_rms(off) < self.ratio * (_rms(wanted) + 1e-8))

    def times_looser(self, output: Output) -> float:
        """Return how many times wider this tolerance is than the derived bounds.

        The median over elements; of a ratio, which one number compares, that of root mean squares.
        """
        radius = output.radius()
        is_bounded = np.isfinite(radius) & (radius > 0)
        if not is_bounded.any():
            return float("inf")
        size = np.abs(output.expected[is_bounded])
        if self.ratio:
            return self.ratio * _rms(size) / _rms(radius[is_bounded])
        return float(np.median((self.atol + self.rtol * size) / radius[is_bounded]))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values * values)))


@dataclass(frozen=True)
class Case:
    """A kernel with its test: inputs, launch, reference, and tolerance by type.

    `call(module, *given)` returns the output; `reference(*given)`, in float64, what it should be.
    `file` begins with the folder of a package, or is one of this project.
    """

    name: str
    file: str
    dtype: torch.dtype
    hand: HandTolerance
    given: Callable[[torch.dtype], list[Any]]
    call: Callable[..., torch.Tensor]
    reference: Callable[..., torch.Tensor]
    mutants: Sequence[Mutant] = ()
    granted: GrantedRoundings = field(
        default_factory=lambda: GrantedRoundings(tf32=False, narrow=False)
    )

    @property
    def library(self) -> str:
        """The package that the file belongs to."""
        return self.file.partition("/")[0]


F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16


def normal(*shape: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: torch.randn(*shape).to(dtype)


def uniform(*shape: int, low: float = 0.0) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: (torch.rand(*shape) + low).to(dtype)


def drawn(*makers: Any) -> Callable[[torch.dtype], list[Any]]:
    return lambda dtype: [make(dtype) if callable(make) else make for make in makers]


def each_type(
    name: str, file: str, hand_tolerances: dict[torch.dtype, Any], *rest: Any, **more: Any
) -> list[Case]:
    """Return a case per type; `hand_tolerances` has atol and rtol of each type, or FLA's ratio."""
    return [
        Case(
            f"{name} {str(dtype)[6:]}",
            file,
            dtype,
            HandTolerance(*hand) if isinstance(hand, tuple) else HandTolerance(ratio=hand),
            *rest,
            **more,
        )
        for dtype, hand in hand_tolerances.items()
    ]


# -- running --------------------------------------------------------------------------------------

_numbers = itertools.count()


def folder_of(library: str) -> Path | None:
    """Return the folder with a package's folder, or None if the package is missing."""
    from tests.public import packages

    if library in packages.PACKAGES:
        found = packages.folder_of(packages.PACKAGES[library])
        return None if found is None else found.parent
    if library == "benchmarks":
        return ROOT
    spec = importlib.util.find_spec(library)
    return None if spec is None or spec.origin is None else Path(spec.origin).parents[1]


def loaded(file: str, folder: Path, mutant: Mutant | None = None) -> Any:
    """Import a file of kernels, unchanged or with a mutant's changes at their first matches."""
    from benchmarks.invariance.packages import load_library

    library = file.partition("/")[0]
    load_library(library)
    base = folder_of(library)
    assert base is not None, f"{library} is not there"
    text = (base / file).read_text(encoding="utf-8")
    if mutant is not None:
        for old_text, new_text in zip(mutant[1::2], mutant[2::2], strict=True):
            assert old_text in text, f"{file} has no {old_text!r}"
            text = text.replace(old_text, new_text, 1)
    path = folder / f"{Path(file).stem}_{os.getpid()}_{next(_numbers)}.py"
    path.write_text(text, encoding="utf-8")
    name = ".".join((*Path(file).parent.parts, path.stem))  # relative imports find their package
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class CaseResult:
    """Result of one run of a case: output, reference, and the launch that wrote the output."""

    actual: np.ndarray
    wanted: np.ndarray
    launch: Call
    name: str
    given: list[Any]


def inputs(case: Case, seed: int) -> list[Any]:
    """Return a case's inputs for a seed, equal on every machine."""
    torch.manual_seed(seed)
    return case.given(case.dtype)


def expected(case: Case, given: list[Any]) -> np.ndarray:
    """Return the reference of a case for these inputs, in float64."""
    wide = [
        value.double()
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.itemsize == 1)
        else value
        for value in given
    ]
    return case.reference(*wide).detach().numpy()


def called(case: Case, module: Any, given: list[Any]) -> torch.Tensor:
    """Return the output of a case's launch, on the GPU or (without one) in the evaluator."""
    on_gpu = [value.cuda() if isinstance(value, torch.Tensor) else value for value in given]
    return case.call(module, *on_gpu).detach()


def run(case: Case, module: Any, seed: int) -> CaseResult:
    """Run a case in the evaluator on the inputs of a seed.

    Raises:
        AssertionError: the launch reads results of an earlier launch, whose roundings are unknown.

    """
    given = inputs(case, seed)
    reference = expected(case, given)
    with recorded_launches() as launches:
        out = called(case, module, given)
    start = out.untyped_storage().data_ptr()
    for launch_index, launch in reversed(list(enumerate(launches))):
        arguments = launch.arguments
        for argument in arguments:
            storage = getattr(argument, "storage", None)
            if storage is None or storage.address != start:
                continue
            if storage not in written_storages(launch.module, arguments):
                continue
            ours = {getattr(each, "storage", None) and each.storage.address for each in arguments}
            for earlier in launches[:launch_index]:
                contents_before = earlier.arguments
                if earlier.kernel == launch.kernel and _addresses(contents_before) == _addresses(
                    arguments
                ):
                    continue  # an autotuner's trial
                for storage_id in written_storages(earlier.module, contents_before):
                    assert storage_id.address not in ours, f"{case.name}: several launches"
            return CaseResult(
                out.double().cpu().numpy(), reference, launch, argument.name, inputs(case, seed)
            )
    raise AssertionError(f"{case.name}: no launch writes the output")


def _addresses(arguments: Sequence[Any]) -> list[int | None]:
    storages = [getattr(each, "storage", None) for each in arguments]
    return [None if each is None else each.address for each in storages]


def derived_for(case: Case, ran: CaseResult) -> tuple[Tolerance, Output]:
    given = {str(place): _wide_bytes(value) for place, value in enumerate(ran.given)}

    def reference(**named: Any) -> dict[str, Any]:
        return {ran.name: case.reference(*named.values())}

    expected = ReferenceResults(reference, given, {ran.name: ran.wanted})
    derived = derive(ran.launch, expected, granted=case.granted)
    return derived, derived[ran.name]


def _wide_bytes(value: Any) -> Any:
    """Return the value for a reference; tensors of one-byte integers become float64."""
    is_bytes = isinstance(value, torch.Tensor) and value.itemsize == 1
    return value.double() if is_bytes and not value.is_floating_point() else value
