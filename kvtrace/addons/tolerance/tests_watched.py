"""`pytest --kvtrace-tolerances`: a table of the tolerances in tests and the derived tolerances.

Comparisons by torch's, Triton's and NumPy's functions are recorded. If a kernel wrote one of the
compared values, and the memory has not changed since, the bound is derived from that launch. Tests
pass and fail as without the option.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.tolerance.deriving import derive
from kvtrace.addons.tolerance.launched import recording, replayable_launch
from kvtrace.addons.tolerance.outputs import Output
from kvtrace.addons.tolerance.references import as_array
from kvtrace.backends.replacements import Replacements
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.shadows.errors.exact_values import elements_of
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.text import columns, printable

if TYPE_CHECKING:
    from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch

#: Name of the property of a test's report with a comparison.
COMPARISON: Final = "kvtrace.tolerance"
#: A tolerance is too loose if it is more than this many times the derived bound.
LOOSE: Final = 10.0
#: Limits on the bytes of a stored launch, and on the stored launches of a test.
_MOST_BYTES: Final = 64 << 20
_MOST_LAUNCHES: Final = 256

#: torch's default tolerances by type: rtol, atol.
_OF_TORCH: Final = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}  # fmt: skip

#: Comparing functions by module and name: the parameters that hold the compared values.
_COMPARING: Final = {
    ("torch.testing", "assert_close"): ("actual", "expected"),
    ("torch", "allclose"): ("input", "other"),
    ("triton.testing", "assert_close"): ("x", "y"),
    ("numpy.testing", "assert_allclose"): ("actual", "desired"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison in a test.

    Attributes:
        function: the comparing function.
        kernel: the kernel that wrote one of the compared values; empty if unknown.
        rtol: the relative tolerance, written or by default.
        atol: the absolute tolerance.
        derived: the largest derived bound, relative to the root mean square.
        looser: the tolerance as a multiple of the bound, the median over elements; 0 if both are 0.
        failing: the share of elements whose bound is wider than the tolerance.
        reason: why no bound is derived; empty if one is.
    """

    function: str
    kernel: str = ""
    rtol: float = 0.0
    atol: float = 0.0
    derived: float = 0.0
    looser: float = 0.0
    failing: float = 0.0
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The reason without a bound, else "may fail: …", "too loose…", "exact" or "fits"."""
        if self.reason:
            return self.reason
        if self.failing:
            return f"may fail: narrower in {100 * self.failing:.2g} % of elements"
        if self.looser == 0:
            return "exact"
        if np.isinf(self.looser):
            return "too loose: the kernel's results are exact"
        return f"too loose, {self.looser:,.0f} times" if self.looser > LOOSE else "fits"


def register(config: pytest.Config) -> None:
    """Register the watcher in processes that run tests, and the table in the reporting process."""
    if config.getoption("collectonly", False):
        return
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_ComparisonTable(), "kvtrace-tolerances-table")
        if getattr(config.option, "dist", "no") != "no":
            return
    config.pluginmanager.register(_ComparisonWatcher(), "kvtrace-tolerances")


class _WrittenResult(Struct, frozen=True):
    """A launch's result in a storage: its launch, tensor's name and bytes' checksum."""

    launch: Call
    name: str
    checksum: int


class _ComparisonWatcher:
    """Pytest plugin that records a running test's launches and comparisons."""

    def __init__(self) -> None:
        self._contexts = ExitStack()
        self._replaced = Replacements()
        self._written: dict[int, _WrittenResult] = {}
        self._numbers: dict[tuple[int, int], _WrittenResult] = {}
        self._item: pytest.Item | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Replace the comparing functions before test modules are imported."""
        from kvtrace.backends.compiled_kernels.unevaluated import before_left_out
        from kvtrace.backends.triton.evaluating_launcher import launch_contexts

        self._contexts.enter_context(recording())
        launch_contexts.append(self._launch)
        self._contexts.callback(launch_contexts.remove, self._launch)
        before_left_out.append(self._forget_results)
        self._contexts.callback(before_left_out.remove, self._forget_results)
        for (module, name), sides in _COMPARING.items():
            imported = import_module(module)
            watching = self._watched(f"{module}.{name}", getattr(imported, name), sides)
            self._replaced.put(imported, name, watching)

    def pytest_sessionfinish(self) -> None:
        """Restore the comparing functions."""
        self._replaced.undo()
        self._contexts.close()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Remember the running test, and forget the launches of the previous test."""
        self._item = item
        self._forget()
        yield
        self._item = None

    def _forget_results(self, _: str) -> None:
        """Forget the launches' results, since a skipped launch might have overwritten them."""
        self._written.clear()

    @contextmanager
    def _launch(self, executed: ExecutedLaunch) -> Iterator[None]:
        tensors = [tensor for tensor in executed.arguments if isinstance(tensor, TensorArgument)]
        if sum(tensor.storage.nbytes for tensor in tensors) > _MOST_BYTES:
            yield
            return
        launch = replayable_launch(executed)
        yield
        if len(self._numbers) >= _MOST_LAUNCHES:
            self._forget()
        written = written_storages(launch.module, executed.arguments)
        for tensor in tensors:
            if tensor.storage in written and tensor.storage.address is not None:
                data = tensor.storage.data
                checksum = 0 if data is None else zlib.crc32(data.data)
                result = _WrittenResult(launch, tensor.name, checksum)
                self._written[tensor.storage.address] = result
                if data is not None:
                    self._numbers[_key(elements_of(tensor, data))] = result

    def _forget(self) -> None:
        self._written.clear()
        self._numbers.clear()

    def _watched(
        self, name: str, original: Callable[..., Any], sides: tuple[str, str]
    ) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            item, self._item = self._item, None  # ignore nested comparisons
            try:
                if item is not None:
                    self._record_comparison(item, name, sides, given, named)
                return original(*given, **named)
            finally:
                self._item = item

        return watched

    def _record_comparison(
        self,
        item: pytest.Item,
        name: str,
        sides: tuple[str, str],
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> None:
        values_by_name = dict(zip(sides, arguments, strict=False)) | dict(named)
        compared_values = [values_by_name.get(side) for side in sides]
        try:
            comparison = self._compared(name, compared_values, arguments, named)
        except KvtraceError as error:
            comparison = Comparison(name, reason=f"not derived: {error}")
        item.user_properties.append((COMPARISON, json.dumps(asdict(comparison))))

    def _compared(
        self,
        name: str,
        compared_values: list[Any],
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> Comparison:
        for value in compared_values:
            result = self._numbers.get(_key(as_array(value))) if _has_numbers(value) else None
            if result is not None:  # a kernel's numbers, perhaps in a wider type or copied
                output = derive(result.launch, granted=GrantedRoundings())[result.name]
                rtol, atol = _tolerances(name, value, arguments, named)
                return _comparison_of(name, result.launch.kernel, output, rtol, atol)
        from kvtrace.backends.triton.runtime_arguments import memory_view

        for value in compared_values:
            start, nbytes = _memory_of(value)
            written = self._written.get(start)
            if written is None:
                continue
            if zlib.crc32(memory_view(start, nbytes).data) != written.checksum:
                return Comparison(name, reason="not derived: changed after a kernel wrote it")
            kernel = written.launch.kernel
            return Comparison(
                name, kernel, reason="not derived: the value is a part of the kernel's output"
            )
        return Comparison(name, reason="not derived: no kernel wrote the value")


def _comparison_of(name: str, kernel: str, output: Output, rtol: float, atol: float) -> Comparison:
    """Return a comparison of an output, with its derived bound."""
    radius = output.radius()
    allowed = atol + rtol * np.abs(output.expected)
    has_bound = np.isfinite(radius) & np.isfinite(allowed)
    if not has_bound.any():
        return Comparison(name, kernel, rtol, atol, reason="not derived: no bound is known")
    wide = radius[has_bound] > 0
    if wide.any():
        looser = float(np.median(allowed[has_bound][wide] / radius[has_bound][wide]))
    else:
        looser = np.inf if allowed[has_bound].any() else 0.0
    failing = float(np.mean(radius[has_bound] > allowed[has_bound]))
    return Comparison(name, kernel, rtol, atol, output.as_rtol(), looser, failing)


def _tolerances(
    name: str, value: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[float, float]:
    """Return (rtol, atol) of a comparison, as written or by default."""
    of_torch = _OF_TORCH.get(str(getattr(value, "dtype", "")).removeprefix("torch."), (0.0, 0.0))
    defaults, order = {
        "torch.testing.assert_close": (of_torch, ()),
        "torch.allclose": ((1e-5, 1e-8), ("rtol", "atol")),
        "triton.testing.assert_close": ((0.0, 1e-2), ("atol", "rtol")),
        "numpy.testing.assert_allclose": ((1e-7, 0.0), ("rtol", "atol")),
    }[name]
    options = dict(zip(order, arguments[2:], strict=False)) | dict(named)
    rtol, atol = options.get("rtol"), options.get("atol")
    if name == "triton.testing.assert_close":
        # What a function of the device's name returns is not known here.
        rtol, atol = (None if callable(tolerance) else tolerance for tolerance in (rtol, atol))
    return (
        defaults[0] if rtol is None else float(rtol),
        defaults[1] if atol is None else float(atol),
    )


def _has_numbers(value: Any) -> bool:
    """Return whether a value is a tensor or an array."""
    return hasattr(value, "untyped_storage") or isinstance(value, np.ndarray)


def _key(values: NDArray[np.float64]) -> tuple[int, int]:
    """Return (count, checksum) of numbers, which identify them in any type."""
    return values.size, zlib.crc32(np.ascontiguousarray(values).data)


def _memory_of(value: Any) -> tuple[int, int]:
    """Return (address, size in bytes) of a tensor's storage or an array.

    (0, 0) for other values.
    """
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return int(storage.data_ptr()), int(storage.nbytes())
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data), value.nbytes
    return 0, 0


class _ComparisonTable:
    """Pytest plugin that prints the comparisons of all tests and processes in a table."""

    def __init__(self) -> None:
        self._comparisons: list[tuple[str, Comparison]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the comparisons of a test's call."""
        if report.when == "call":
            self._comparisons += [
                (report.nodeid, Comparison(**json.loads(str(value))))
                for name, value in report.user_properties
                if name == COMPARISON
            ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("kvtrace: tolerances, derived (not measured)")
        for line in lines_of(self._comparisons):
            terminalreporter.line(line)


def lines_of(comparisons: list[tuple[str, Comparison]]) -> list[str]:
    """Return the table of comparisons, and a line with their counts."""
    if not comparisons:
        return ["no test compared values by torch's, Triton's or NumPy's functions"]
    rows = [
        [
            printable(test),
            comparison.kernel,
            f"{comparison.atol:.2g} + {comparison.rtol:.2g}|x|"
            if comparison.kernel and not comparison.reason
            else "",
            f"{comparison.derived:.2g}" if comparison.derived else "",
            comparison.verdict,
        ]
        for test, comparison in comparisons
    ]
    derived = [comparison for _, comparison in comparisons if not comparison.reason]
    loose = sum(comparison.looser > LOOSE and not comparison.failing for comparison in derived)
    failing = sum(comparison.failing > 0 for comparison in derived)
    head = ["test", "kernel", "written", "derived ÷ rms", "verdict"]
    return [
        *columns(head, rows, texts=(0, 1, 4)),
        f"{len(comparisons)} comparisons, {len(derived)} of them of a kernel's output: {loose} "
        f"too loose (by more than {LOOSE:g}), {failing} may fail",
    ]
