"""`pytest --kvtrace-tolerances`: beside each tolerance written in a test, the derived one.

Comparisons by torch's, Triton's and NumPy's functions are watched. Where one side is what a kernel
has written, and nothing has changed since, its bound is derived from that launch. Tests pass and
fail as without.
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
from numpy.typing import NDArray

from kvtrace.addons.tolerance.deriving import derive
from kvtrace.addons.tolerance.launched import Launched, launched, recording
from kvtrace.addons.tolerance.outputs import Output
from kvtrace.addons.tolerance.references import as_array
from kvtrace.backends.replacements import Replacements
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.shadows.errors.exact_values import elements_of
from kvtrace.evaluate.shadows.errors.roundings import Granted
from kvtrace.schema.errors import KvtraceError
from kvtrace.text import columns, printable

if TYPE_CHECKING:
    from kvtrace.backends.triton.evaluating_launcher import ExecutedLaunch

#: The name of a property of a test's report: one comparison.
COMPARISON: Final = "kvtrace.tolerance"
#: By so much a tolerance is too loose.
LOOSE: Final = 10.0
#: Launches on more memory are not kept, nor more of them in a test.
_MOST_BYTES: Final = 64 << 20
_MOST_LAUNCHES: Final = 256

#: torch's default tolerances by type: rtol, atol.
_OF_TORCH: Final = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}  # fmt: skip

#: Functions that compare, by module: the parameters that hold what is compared.
_COMPARING: Final = {
    ("torch.testing", "assert_close"): ("actual", "expected"),
    ("torch", "allclose"): ("input", "other"),
    ("triton.testing", "assert_close"): ("x", "y"),
    ("numpy.testing", "assert_allclose"): ("actual", "desired"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a test.

    Attributes:
        function: what compares.
        kernel: the kernel that wrote one side; empty: none that is known.
        rtol: the relative tolerance, written or by default.
        atol: the absolute one.
        derived: the derived bound relative to the root mean square: the largest.
        looser: how many times wider the tolerance is: the median over elements.
        failing: the share of elements whose bound is wider than the tolerance.
        reason: why nothing is derived.

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
        """What the figures say of the tolerance."""
        if self.reason:
            return self.reason
        if self.failing:
            return f"may fail: narrower in {100 * self.failing:.2g} % of elements"
        return f"too loose, {self.looser:,.0f} times" if self.looser > LOOSE else "fits"


def register(config: pytest.Config) -> None:
    """Watch the tests of this process, and print the table in the one that reports."""
    if config.getoption("collectonly", False):
        return
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Table(), "kvtrace-tolerances-table")
        if getattr(config.option, "dist", "no") != "no":
            return
    config.pluginmanager.register(_Watcher(), "kvtrace-tolerances")


@dataclass(frozen=True, slots=True)
class _Written:
    """What a launch left in a storage: the tensor's name, and a checksum."""

    launch: Launched
    name: str
    checksum: int


class _Watcher:
    """Sees launches and comparisons, and notes them with the test that makes them."""

    def __init__(self) -> None:
        self._around = ExitStack()
        self._replaced = Replacements()
        self._written: dict[int, _Written] = {}
        self._numbers: dict[tuple[int, int], _Written] = {}
        self._item: pytest.Item | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Begin to watch, before the modules of tests are imported."""
        from kvtrace.backends.compiled_kernels.unevaluated import before_left_out
        from kvtrace.backends.triton.evaluating_launcher import launch_contexts

        self._around.enter_context(recording())
        launch_contexts.append(self._launch)
        self._around.callback(launch_contexts.remove, self._launch)
        before_left_out.append(self._left_out)
        self._around.callback(before_left_out.remove, self._left_out)
        for (module, name), sides in _COMPARING.items():
            found = import_module(module)
            watching = self._watching(f"{module}.{name}", getattr(found, name), sides)
            self._replaced.put(found, name, watching)

    def pytest_sessionfinish(self) -> None:
        """Leave everything as it was."""
        self._replaced.undo()
        self._around.close()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Know which test runs."""
        self._item = item
        self._forget()
        yield
        self._item = None

    def _left_out(self, _: str) -> None:
        """Forget what launches wrote: one that did not run may have been to write there."""
        self._written.clear()

    @contextmanager
    def _launch(self, executed: ExecutedLaunch) -> Iterator[None]:
        tensors = [each for each in executed.arguments if isinstance(each, TensorArgument)]
        if sum(each.storage.nbytes for each in tensors) > _MOST_BYTES:
            yield
            return
        launch = launched(executed)
        yield
        if len(self._numbers) >= _MOST_LAUNCHES:
            self._forget()
        written = written_storages(launch.module, executed.arguments)
        for each in tensors:
            if each.storage in written and each.storage.address is not None:
                data = each.storage.data
                checksum = 0 if data is None else zlib.crc32(data.data)
                written_here = _Written(launch, each.name, checksum)
                self._written[each.storage.address] = written_here
                if data is not None:
                    self._numbers[_key(elements_of(each, data))] = written_here

    def _forget(self) -> None:
        self._written.clear()
        self._numbers.clear()

    def _watching(
        self, name: str, original: Callable[..., Any], sides: tuple[str, str]
    ) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            item, self._item = self._item, None  # what these functions compare themselves
            try:
                if item is not None:
                    self._note(item, name, sides, given, named)
                return original(*given, **named)
            finally:
                self._item = item

        return watched

    def _note(
        self,
        item: pytest.Item,
        name: str,
        sides: tuple[str, str],
        given: tuple[Any, ...],
        named: Mapping[str, Any],
    ) -> None:
        values = dict(zip(sides, given, strict=False)) | dict(named)
        pair = [values.get(side) for side in sides]
        try:
            found = self._compared(name, pair, given, named)
        except KvtraceError as error:
            found = Comparison(name, reason=f"not derived: {error}")
        item.user_properties.append((COMPARISON, json.dumps(asdict(found))))

    def _compared(
        self, name: str, pair: list[Any], given: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Comparison:
        for value in pair:
            same = self._numbers.get(_key(as_array(value))) if _has_numbers(value) else None
            if same is not None:  # what the kernel wrote, perhaps in a wider type, or elsewhere
                output = derive(same.launch, granted=Granted())[same.name]
                rtol, atol = _tolerances(name, value, given, named)
                return _beside(name, same.launch.kernel, output, rtol, atol)
        for value in pair:
            start, nbytes = _memory_of(value)
            written = self._written.get(start)
            if written is None:
                continue
            if zlib.crc32(_bytes_at(start, nbytes)) != written.checksum:
                return Comparison(name, reason="not derived: changed since a kernel wrote it")
            kernel = written.launch.kernel
            return Comparison(name, kernel, reason="not derived: a part of what it wrote")
        return Comparison(name, reason="not derived: no kernel wrote it")


def _beside(name: str, kernel: str, output: Output, rtol: float, atol: float) -> Comparison:
    """Put a derived bound beside a tolerance."""
    radius = output.radius()
    allowed = atol + rtol * np.abs(output.expected)
    known = np.isfinite(radius) & np.isfinite(allowed)
    if not known.any():
        return Comparison(name, kernel, rtol, atol, reason="not derived: no bound is known")
    wide = radius[known] > 0
    looser = float(np.median(allowed[known][wide] / radius[known][wide])) if wide.any() else np.inf
    failing = float(np.mean(radius[known] > allowed[known]))
    return Comparison(name, kernel, rtol, atol, output.as_rtol(), looser, failing)


def _tolerances(
    name: str, value: Any, given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[float, float]:
    """Return what a comparison allows: rtol, atol."""
    of_torch = _OF_TORCH.get(str(getattr(value, "dtype", "")).removeprefix("torch."), (0.0, 0.0))
    defaults, order = {
        "torch.testing.assert_close": (of_torch, ()),
        "torch.allclose": ((1e-5, 1e-8), ("rtol", "atol")),
        "triton.testing.assert_close": ((0.0, 1e-2), ("atol", "rtol")),
        "numpy.testing.assert_allclose": ((1e-7, 0.0), ("rtol", "atol")),
    }[name]
    asked = dict(zip(order, given[2:], strict=False)) | dict(named)
    rtol, atol = asked.get("rtol"), asked.get("atol")
    if name == "triton.testing.assert_close":
        rtol, atol = (_by_device(each) for each in (rtol, atol))
    return (
        defaults[0] if rtol is None else float(rtol),
        defaults[1] if atol is None else float(atol),
    )


def _by_device(tolerance: Any) -> Any:
    """Triton takes a function of the device's name, too; nobody knows it here."""
    return None if callable(tolerance) else tolerance


def _has_numbers(value: Any) -> bool:
    """Whether it is a tensor, or an array."""
    return hasattr(value, "untyped_storage") or isinstance(value, np.ndarray)


def _key(values: NDArray[np.float64]) -> tuple[int, int]:
    """Return what tells numbers from others, in whatever type they are: a count, a checksum."""
    return values.size, zlib.crc32(np.ascontiguousarray(values).data)


def _memory_of(value: Any) -> tuple[int, int]:
    """Return where a tensor's, or an array's, memory begins, and its bytes."""
    if hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        return int(storage.data_ptr()), int(storage.nbytes())
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data), value.nbytes
    return 0, 0


def _bytes_at(start: int, nbytes: int) -> Any:
    from kvtrace.backends.triton.runtime_arguments import memory_view

    return memory_view(start, nbytes)


class _Table:
    """Prints the comparisons of all tests at the end, wherever they ran."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Comparison]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what a test's call compared."""
        if report.when == "call":
            self._found += [
                (report.nodeid, Comparison(**json.loads(str(value))))
                for name, value in report.user_properties
                if name == COMPARISON
            ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("kvtrace: tolerances, derived (not measured)")
        for line in lines_of(self._found):
            terminalreporter.line(line)


def lines_of(found: list[tuple[str, Comparison]]) -> list[str]:
    """Return the table of comparisons, and a line that counts them."""
    if not found:
        return ["no test compared anything by torch's, Triton's or NumPy's functions"]
    rows = [
        [
            printable(test),
            each.kernel,
            f"{each.atol:.2g} + {each.rtol:.2g}|x|" if each.kernel and not each.reason else "",
            f"{each.derived:.2g}" if each.derived else "",
            each.verdict,
        ]
        for test, each in found
    ]
    derived = [each for _, each in found if not each.reason]
    loose = sum(each.looser > LOOSE and not each.failing for each in derived)
    failing = sum(each.failing > 0 for each in derived)
    head = ["test", "kernel", "written", "derived ÷ rms", "verdict"]
    return [
        *columns(head, rows, texts=(0, 1, 4)),
        f"{len(found)} comparisons, {len(derived)} of them of what a kernel wrote: {loose} too "
        f"loose (by more than {LOOSE:g}), {failing} may fail",
    ]
