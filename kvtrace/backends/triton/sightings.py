"""What the evaluator sees a launch do that is a defect: out of bounds, or a failed assertion.

A launch without a GPU is executed, so this is what happened, for the contents that its tensors had.
It is kept as findings, whether or not calls are judged, and said in the run's messages.
"""

import sys
import weakref
from typing import TYPE_CHECKING, Any

from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.observe import FailedAssertion, Observer, OutOfBounds
from kvtrace.ir import source_stack
from kvtrace.schema.layout import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.backends.triton.launches import LaunchAdapter
    from kvtrace.capture.session import Session
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.errors import KernelDefect
    from kvtrace.verdicts.verdict import Verdict

#: Kernel, file and line of what was reported in a session.
_said: "weakref.WeakKeyDictionary[Session, set[tuple[str, str, int]]]"
_said = weakref.WeakKeyDictionary()


class Sightings(Observer):
    """Collects the defects of one launch."""

    def __init__(self, kernel: str, arguments: "Sequence[Argument]") -> None:
        self._kernel = kernel
        self._arguments = arguments
        self._seen: dict[tuple[int, str], OutOfBounds] = {}
        self._failure: FailedAssertion | None = None

    @property
    def found(self) -> bool:
        """Whether any defect was seen."""
        return bool(self._seen) or self._failure is not None

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        """Note lanes that leave their tensor; the first of an op and rule are the witness."""
        if defect.certain:
            key = (defect.op.index, defect.rule)
            first = self._seen.get(key)
            self._seen[key] = defect if first is None else first.followed_by(defect)

    def device_assert(self, failure: FailedAssertion) -> None:
        """Note the assertion at which the launch ends."""
        self._failure = failure

    def tell(
        self,
        session: "Session",
        adapter: "LaunchAdapter | None",
        compiled: Any,
        grid: tuple[int, int, int],
        values: "tuple[Any, ...]",
    ) -> "KernelDefect | None":
        """Keep what was seen as findings of the call, and say it in the run's messages.

        Args:
            session: what records.
            adapter: records the call, if that is new; None: nobody records Triton's launches.
            compiled: the compiled kernel, None where it is not known.
            grid: the launch's grid.
            values: the values of all parameters.

        Returns:
            The error to raise, where the setting `sanitize` asks for that.

        """
        defect = None
        if adapter is not None and compiled is not None and session.recording:
            kernel_id = adapter.new_kernel(None, compiled)[0]
            if kernel_id >= 0:
                from kvtrace.backends.compiled_kernels.judged_launches import saw

                launch = adapter.coming(compiled, kernel_id, grid, values, {})
                defect = saw(session, launch, self._verdicts)
        for seen in self._seen.values():
            if seen.rule == "out-of-bounds":
                self._say(session, seen, told=defect is not None)
        return defect

    def _verdicts(self, call: "Call") -> "list[Verdict]":
        from kvtrace.verdicts.rules.asserts import asserted
        from kvtrace.verdicts.rules.evaluated import left
        from kvtrace.verdicts.rules.out_of_bounds_zeros import without_any_zeros

        found = [left(defect, self._arguments, OBSERVED) for defect in self._seen.values()]
        if self._failure is not None:
            found.append(asserted(self._failure, OBSERVED))
        return without_any_zeros(call.module, found)

    def _say(self, session: "Session", defect: OutOfBounds, *, told: bool) -> None:
        """Say what left its tensor, once for each source line of a kernel."""
        frames = source_stack(defect.op)
        file, line = (frames[0].file, frames[0].line) if frames else ("an unknown place", 0)
        said = _said.setdefault(session, set())
        if (self._kernel, file, line) in said:
            return
        said.add((self._kernel, file, line))
        if not told:
            judging = sys.modules.get("kvtrace.backends.compiled_kernels.judged_launches")
            told = judging is not None and judging.has_told(session, file, line)
        argument = self._arguments[defect.argument]
        sentence = _sentence(f"kernel {self._kernel}, {file}:{line}", defect, argument)
        session.message("info" if told else "warning", "out-of-bounds", sentence)


def _sentence(place: str, defect: OutOfBounds, argument: Argument) -> str:
    from kvtrace.verdicts.rules.evaluated import where_it_goes

    effect = {"load": "given zero", "store": "dropped"}.get(defect.kind, "left out")
    shape = f" of shape {argument.shape}" if isinstance(argument, TensorArgument) else ""
    lanes = "1 lane" if defect.lanes == 1 else f"{defect.lanes:,} lanes"
    counted = f"{lanes} over the grid {'is' if defect.lanes == 1 else 'are'}"
    return (
        f"{place}: a {defect.kind} {where_it_goes(defect, argument.name)}{shape} "
        f"in program {defect.program} ({counted} {effect}; the program continues)"
    )
