"""Defects found while the evaluator executes a launch: out of bounds, failed assertions.

A launch without a GPU is executed, so these defects happened, for the contents that its tensors
had. They are recorded as findings, whether or not calls are judged, and reported in the run's
messages.
"""

import sys
import weakref
from typing import TYPE_CHECKING, Any

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.observe import FailedAssertion, Observer, OutOfBounds
from kvtrace.ir import source_stack
from kvtrace.schema.layout import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.capture.session import Session
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.errors import KernelDefect
    from kvtrace.verdicts.verdict import Verdict

#: Kernel, file and line of the defects reported in a session.
_reported: "weakref.WeakKeyDictionary[Session, set[tuple[str, str, int]]]"
_reported = weakref.WeakKeyDictionary()


class DefectObserver(Observer):
    """An observer that collects the defects of one executed launch."""

    def __init__(
        self,
        kernel: str,
        arguments: "Sequence[Argument]",
        at_first: "Callable[[OutOfBounds], None]" = lambda _: None,
        at_long_loop: "Callable[[Op, int], None]" = lambda *_: None,
    ) -> None:
        """Call `at_first` at an op's first access out of bounds, `at_long_loop` at long loops."""
        self._kernel = kernel
        self._arguments = arguments
        self._at_first, self._at_long_loop = at_first, at_long_loop
        #: The defects are recorded already, as the launch may never end.
        self.is_recorded = False
        self._out_of_bounds: dict[tuple[int, str], OutOfBounds] = {}
        self._failure: FailedAssertion | None = None

    @property
    def has_defects(self) -> bool:
        """The launch had at least one defect."""
        return bool(self._out_of_bounds) or self._failure is not None

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Note lanes outside of their tensor; an op's first ones are the witness."""
        if not defect.certain:
            return
        key = (defect.op.index, defect.rule)
        earlier = self._out_of_bounds.get(key)
        self._out_of_bounds[key] = defect if earlier is None else earlier.followed_by(defect)
        if earlier is None and defect.rule == "out-of-bounds":
            self._at_first(defect)

    def long_loop(self, op: "Op", trips: int) -> None:
        """Pass a loop that may never end to the launcher."""
        self._at_long_loop(op, trips)

    def device_assert(self, failure: FailedAssertion) -> None:
        """Store the failed assertion, which ends the launch."""
        self._failure = failure

    def report(
        self,
        session: "Session",
        adapter: "LaunchAdapter | None",
        compiled: Any,
        grid: tuple[int, int, int],
        values: "tuple[Any, ...]",
    ) -> "KernelDefect | None":
        """Record the defects as findings of the call, and add messages to the run.

        Args:
            session: The recording.
            adapter: Records a new call; None if Triton's launches are not recorded.
            compiled: The compiled kernel, None if unknown.
            grid: The launch's grid.
            values: The values of all parameters.

        Returns:
            The error to raise, if the setting `sanitize` asks for an error, else None.

        """
        if adapter is None or compiled is None or not session.records_launches:
            return None
        kernel_id = adapter.new_kernel(None, compiled)[0]
        if kernel_id < 0:
            return None
        from kvtrace.backends.compiled_kernels.judged_launches import record_defects

        launch = adapter.coming(compiled, kernel_id, grid, values, {})
        return record_defects(session, launch, self._verdicts)

    def _verdicts(self, call: "Call") -> "list[Verdict]":
        from kvtrace.verdicts.rules.asserts import assertion_violation
        from kvtrace.verdicts.rules.evaluated import outside_verdict
        from kvtrace.verdicts.rules.out_of_bounds_zeros import without_any_zeros

        verdicts = [
            outside_verdict(defect, self._arguments, OBSERVED)
            for defect in self._out_of_bounds.values()
        ]
        if self._failure is not None:
            verdicts.append(assertion_violation(self._failure, OBSERVED))
        return without_any_zeros(call.module, verdicts)

    def add_message(self, session: "Session", defect: OutOfBounds) -> None:
        """Add a message about lanes outside of their tensor, once per source line of a kernel."""
        frames = source_stack(defect.op)
        file, line = (frames[0].file, frames[0].line) if frames else ("an unknown file", 0)
        reported = _reported.setdefault(session, set())
        if (self._kernel, file, line) in reported:
            return
        reported.add((self._kernel, file, line))
        judging = sys.modules.get("kvtrace.backends.compiled_kernels.judged_launches")
        is_judged = judging is not None and judging.has_reported(session, file, line)
        is_reported = session.settings.sanitize != "off" or is_judged
        argument = self._arguments[defect.argument]
        sentence = _sentence(f"kernel {self._kernel}, {file}:{line}", defect, argument)
        level = "info" if is_reported else "error"  # the severity of the finding
        session.message(level, "out-of-bounds", sentence, is_printed=not is_reported)


def _sentence(location: str, defect: OutOfBounds, argument: Argument) -> str:
    from kvtrace.verdicts.rules.evaluated import outside_text

    effect = {"load": "given zero", "store": "dropped"}.get(defect.kind, "left out")
    shape = f" of shape {argument.shape}" if isinstance(argument, TensorArgument) else ""
    return (
        f"{location}: a {defect.kind} {outside_text(defect, argument.name)}{shape} "
        f"in program {defect.program} ({effect}; the program continues)"
    )
