"""Cases for derived tolerances: a launch, what it should give, and its test's tolerance."""

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
from kvtrace.addons.tolerance.launched import ReplayableLaunch, recorded_launches
from kvtrace.addons.tolerance.outputs import Output, Tolerance
from kvtrace.addons.tolerance.references import ReferenceResults
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.shadows.errors.roundings import Granted

ROOT = Path(__file__).resolve().parents[1]
#: Below this, whatever the ratio says, FLA's comparison passes.
FLA_LEAST = 1e-6


@dataclass(frozen=True)
class Hand:
    """What a test allows: as torch does, or (`ratio`) FLA's way, of the root mean squares."""

    atol: float = 0.0
    rtol: float = 0.0
    ratio: float = 0.0

    def __str__(self) -> str:
        if self.ratio:
            return f"{self.ratio:.0e} rms"
        return f"{self.atol:.0e} + {self.rtol:.0e}|x|"

    def passes(self, actual: np.ndarray, wanted: np.ndarray) -> bool:
        """Say whether the test lets a result pass."""
        if not self.ratio:
            return bool(np.allclose(actual, wanted, atol=self.atol, rtol=self.rtol, equal_nan=True))
        off = np.abs(actual - wanted)
        if off.max(initial=0.0) <= FLA_LEAST:
            return True
        return bool(_rms(off) < self.ratio * (_rms(wanted) + 1e-8))

    def looser(self, output: Output) -> float:
        """Say how many times wider it is than the derived bounds.

        The median over elements; of a ratio, which one number compares, that of root mean squares.
        """
        radius = output.radius()
        known = np.isfinite(radius) & (radius > 0)
        if not known.any():
            return float("inf")
        size = np.abs(output.expected[known])
        if self.ratio:
            return self.ratio * _rms(size) / _rms(radius[known])
        return float(np.median((self.atol + self.rtol * size) / radius[known]))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values * values)))


@dataclass(frozen=True)
class Case:
    """A kernel with its test: what it is given, what it should give, and how it was compared.

    `call(module, *given)` returns the output; `reference(*given)`, in float64, what it should be.
    `file` begins with the folder of a package, or is one of this project.
    """

    name: str
    file: str
    dtype: torch.dtype
    hand: Hand
    given: Callable[[torch.dtype], list[Any]]
    call: Callable[..., torch.Tensor]
    reference: Callable[..., torch.Tensor]
    mutants: Sequence[Mutant] = ()
    granted: Granted = field(default_factory=lambda: Granted(tf32=False, narrow=False))

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
    name: str, file: str, hands: dict[torch.dtype, Any], *rest: Any, **more: Any
) -> list[Case]:
    """Return a case for each type: `hands` has atol and rtol of each, or FLA's ratio."""
    return [
        Case(
            f"{name} {str(dtype)[6:]}",
            file,
            dtype,
            Hand(*hand) if isinstance(hand, tuple) else Hand(ratio=hand),
            *rest,
            **more,
        )
        for dtype, hand in hands.items()
    ]


# -- running --------------------------------------------------------------------------------------

_numbers = itertools.count()


def folder_of(library: str) -> Path | None:
    """Return the folder that holds a package's folder, or none if it is not there."""
    from tests.public import packages

    if library in packages.PACKAGES:
        found = packages.folder_of(packages.PACKAGES[library])
        return None if found is None else found.parent
    if library == "benchmarks":
        return ROOT
    spec = importlib.util.find_spec(library)
    return None if spec is None or spec.origin is None else Path(spec.origin).parents[1]


def loaded(file: str, folder: Path, mutant: Mutant | None = None) -> Any:
    """Import a file of kernels, as it is or with a mutant's changes where they first fit."""
    from benchmarks.invariance.packages import load_library

    library = file.partition("/")[0]
    load_library(library)
    base = folder_of(library)
    assert base is not None, f"{library} is not there"
    text = (base / file).read_text(encoding="utf-8")
    if mutant is not None:
        for old, new in zip(mutant[1::2], mutant[2::2], strict=True):
            assert old in text, f"{file} has no {old!r}"
            text = text.replace(old, new, 1)
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
class Ran:
    """One run of a case: its output, what should be, and the launch that wrote it."""

    actual: np.ndarray
    wanted: np.ndarray
    launch: ReplayableLaunch
    name: str
    given: list[Any]


def inputs(case: Case, seed: int) -> list[Any]:
    """Return a case's inputs of a seed, the same ones wherever it runs."""
    torch.manual_seed(seed)
    return case.given(case.dtype)


def expected(case: Case, given: list[Any]) -> np.ndarray:
    """Return what a case should give, in float64."""
    wide = [
        each.double()
        if isinstance(each, torch.Tensor) and (each.is_floating_point() or each.itemsize == 1)
        else each
        for each in given
    ]
    return case.reference(*wide).detach().numpy()


def called(case: Case, module: Any, given: list[Any]) -> torch.Tensor:
    """Launch a case, on the GPU or (while kvtrace captures without one) in the evaluator."""
    moved = [each.cuda() if isinstance(each, torch.Tensor) else each for each in given]
    return case.call(module, *moved).detach()


def run(case: Case, module: Any, seed: int) -> Ran:
    """Run a case in the evaluator on inputs of a seed.

    Raises:
        AssertionError: another launch, whose roundings no bound has, made what this one reads.

    """
    given = inputs(case, seed)
    wanted = expected(case, given)
    with recorded_launches() as launches:
        out = called(case, module, given)
    start = out.untyped_storage().data_ptr()
    for at, launch in reversed(list(enumerate(launches))):
        arguments = launch.before()
        for argument in arguments:
            storage = getattr(argument, "storage", None)
            if storage is None or storage.address != start:
                continue
            if storage not in written_storages(launch.module, arguments):
                continue
            ours = {getattr(each, "storage", None) and each.storage.address for each in arguments}
            for earlier in launches[:at]:
                before = earlier.before()
                if earlier.kernel == launch.kernel and _addresses(before) == _addresses(arguments):
                    continue  # an autotuner's trial
                for left in written_storages(earlier.module, before):
                    assert left.address not in ours, f"{case.name}: several launches"
            return Ran(
                out.double().cpu().numpy(), wanted, launch, argument.name, inputs(case, seed)
            )
    raise AssertionError(f"{case.name}: no launch writes the output")


def _addresses(arguments: Sequence[Any]) -> list[int | None]:
    storages = [getattr(each, "storage", None) for each in arguments]
    return [None if each is None else each.address for each in storages]


def derived_for(case: Case, ran: Ran) -> tuple[Tolerance, Output]:
    given = {str(place): _wide_bytes(value) for place, value in enumerate(ran.given)}

    def reference(**named: Any) -> dict[str, Any]:
        return {ran.name: case.reference(*named.values())}

    wanted = ReferenceResults(reference, given, {ran.name: ran.wanted})
    derived = derive(ran.launch, wanted, granted=case.granted)
    return derived, derived[ran.name]


def _wide_bytes(value: Any) -> Any:
    """Return what a reference is given: whole numbers of a byte are numbers, too."""
    is_bytes = isinstance(value, torch.Tensor) and value.itemsize == 1
    return value.double() if is_bytes and not value.is_floating_point() else value
