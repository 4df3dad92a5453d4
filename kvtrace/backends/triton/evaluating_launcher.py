"""Launches of one compiled kernel without a GPU: the evaluator runs its IR over the grid.

That is the TTIR, or the TTGIR of a kernel written in Gluon, unless it is of several thread blocks
or has an op that is not evaluated.

Triton asks its driver for `launcher_cls(source, metadata)` once per compiled kernel and calls the
result for every launch, in all known versions (3.5 to 3.9): `launcher(x, y, z, stream, function,
packed_metadata, launch_metadata, enter_hook, exit_hook, *values)`, where the values are those of
all the kernel's parameters.
"""

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kvtrace.backends.compiled_kernels.kernel_records import first_stage, signature_of, target_of
from kvtrace.backends.compiled_kernels.unevaluated import reason_not_recorded, report_skipped_launch
from kvtrace.backends.compiled_kernels.written_lines import with_program_locations
from kvtrace.backends.triton.device_free_state import state
from kvtrace.backends.triton.executed_defects import DefectObserver
from kvtrace.backends.triton.modules import build_options, module_from
from kvtrace.backends.triton.runtime_arguments import evaluator_arguments
from kvtrace.capture.arguments import unseen
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, TensorArgument
from kvtrace.evaluate.compiler import unevaluated_op
from kvtrace.evaluate.grid_limits import Grid, as_launched, grid_problem, launches_programs
from kvtrace.evaluate.observe import OutOfBounds
from kvtrace.evaluate.reach import follows_addresses, reached
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.torch_sums import unobserved
from kvtrace.ir import Module, Options
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.without_ir import not_evaluated, several_blocks

if TYPE_CHECKING:
    from kvtrace.backends.triton.watching import Watch
    from kvtrace.capture.session import Session
    from kvtrace.clients.running import Member


class MissingIR(KvtraceError):
    """Raised when the IR of a kernel that is to be executed is missing."""

    slug = "missing-ir"


#: Functions called before each launch that executes.
before_launch: list[Callable[[], None]] = []


class ExecutedLaunch(NamedTuple):
    """The facts of a launch that is about to be executed; the first four are of its kernel."""

    kernel: str
    text: str
    file: str | None
    options: Options
    grid: tuple[int, int, int]
    arguments: Sequence[Argument]


#: Makers of contexts around each launch that executes, to compare memory before and after.
launch_contexts: list[Callable[[ExecutedLaunch], AbstractContextManager[None]]] = []


class EvaluatingLauncher:
    """The launcher of one compiled kernel, which executes each launch in the evaluator.

    Args:
        source: Triton's description of the compiled function; has `signature`.
        metadata: The compiled kernel's metadata; has `name`, `hash` and `target`.
        ttir: The kernel's TTIR, if compilation stopped there; else Triton's cache has the TTIR.

    """

    def __init__(self, source: Any, metadata: Any, ttir: str | None = None) -> None:
        self._source_name = str(source.name)
        self._kernel = str(metadata.name)
        self._hash = str(metadata.hash)
        self._target = target_of(metadata)
        self._options = build_options(metadata)
        self._num_ctas = int(metadata.num_ctas)
        self._threads = int(metadata.num_warps) * int(metadata.target.warp_size)
        self._file = _defining_file(source)
        self._function = getattr(source, "fn", None)
        self._signature = tuple(signature_of(source).items())
        self._evaluated_stage = first_stage(source)
        self._own_ttir = ttir
        if ttir is None:
            self._has_lowered_descriptors = not getattr(metadata, "tensordesc_meta", None)
        else:
            self._has_lowered_descriptors = not _takes_descriptors(ttir)
        self._module: Module | None = None
        #: The compiled kernel of this launcher, once Triton has made it.
        self.compiled: weakref.ref[Any] | None = None

    def __call__(
        self,
        grid_x: Any,
        grid_y: Any,
        grid_z: Any,
        stream: Any,
        function: Any,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Callable[[Any], Any] | None,
        exit_hook: Callable[[Any], Any] | None,
        *values: Any,
    ) -> None:
        """Execute one launch in the evaluator; tensors have the results when this returns."""
        del stream, function, packed_metadata  # there is no device
        for call in before_launch:
            call()
        grid = as_launched((grid_x, grid_y, grid_z))
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if launches_programs(grid, self._target):
            self._check_grid(grid, values)
            reason = self._reason_left_out if self._evaluated_stage == "ttgir" else None
            if reason is not None:
                self._leave_out(reason)
            else:
                begin = time.time_ns()
                try:
                    self._execute(grid, values)
                except KvtraceError as error:
                    self._record_failed(grid, values, begin, error)
                    raise
        elif min(grid) > 0 and state.session is not None:
            text = (
                f"kernel {self._kernel} on grid {grid} was not launched: Triton's launchers "
                "multiply its numbers in 32 bits, and launch nothing unless that is positive"
            )
            state.session.message("warning", "nothing-launched", text)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _check_grid(self, grid: Grid, values: tuple[Any, ...]) -> None:
        """Raise the error of Triton's launchers for a grid that the target refuses."""
        problem = grid_problem(grid, self._target, self._num_ctas, self._threads)
        if problem is None:
            return
        backend = self._target.partition(":")[0].upper()
        error = RuntimeError(f"Triton Error [{backend}]: invalid argument: {problem}")
        self._record_failed(grid, values, time.time_ns(), error)
        raise error

    @cached_property
    def _reason_left_out(self) -> str | None:
        """The reason that launches of a kernel in Gluon are not evaluated, or None."""
        return several_blocks(self._num_ctas) or unevaluated_op(self._parsed())

    def _leave_out(self, reason: str) -> None:
        """Report that a launch of this kernel cannot be executed without a GPU, and skip it."""
        sentence = not_evaluated(self._kernel, reason)
        report_skipped_launch(state.session, self._kernel, sentence)
        watch, members = self._watchers()
        if watch is not None and members:
            watch.left_out(self._kernel, self._hash, sentence)

    def _parsed(self) -> Module:
        if self._module is None:
            self._module = module_from(self._ir(), self._file, self._target, self._options)
        return self._module

    def _execute(self, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        module = self._parsed()
        arguments = evaluator_arguments(
            self._signature, values, pointers_for_descriptors=self._has_lowered_descriptors
        )
        if follows_addresses(module):
            arguments += self._reachable_storages(arguments)
        if launch_contexts:
            executed = ExecutedLaunch(
                self._kernel, self._ir(), self._file, self._options, grid, arguments
            )
            with ExitStack() as contexts:
                for context_for in launch_contexts:
                    contexts.enter_context(context_for(executed))
                self._run(module, grid, values, arguments)
            return
        self._run(module, grid, values, arguments)

    def _record_failed(
        self, grid: tuple[int, int, int], values: tuple[Any, ...], begin: int, error: Exception
    ) -> None:
        """Record a launch that failed, which the hot path does not: it records after returning."""
        session = state.session
        if session is None:
            return
        try:
            call_id = self._record_call(session, grid, values)
            if call_id < 0:
                return
            session.add_launch(call_id, begin, time.time_ns())
            session.message("error", "failed-launch", f"kernel {self._kernel}: {error}")
        except Exception as problem:  # noqa: BLE001 - counted; the launch ends as it would have
            session.problem(problem)

    def _run(
        self, module: Module, grid: tuple[int, int, int], values: tuple[Any, ...],
        arguments: list[Argument],
    ) -> None:  # fmt: skip
        observer = DefectObserver(
            self._kernel, arguments,
            lambda defect: self._say_defect(observer, defect, grid, values),
            lambda loop, trips: self._say_long_loop(observer, place(loop), trips, grid, values),
        )  # fmt: skip
        watch, members = self._watchers()
        reason = None if watch is None else reason_not_recorded(watch.session)
        if watch is not None and members and reason is not None:
            watch.left_out(self._kernel, self._hash, reason)
            watch = None
        try:
            with unobserved():
                if watch is None or not members:
                    evaluate(module, arguments, grid, observers=(observer,), kernel=self._kernel)
                else:
                    watch.execute(
                        module, arguments, grid, (observer,), members,
                        kernel=self._kernel, identity=self._hash, stage=self._stage,
                        num_ctas=self._num_ctas,
                    )  # fmt: skip
        except KvtraceError:
            self._report_defects(observer, grid, values)
            raise
        self._report_defects(observer, grid, values)

    def _say_defect(
        self, observer: DefectObserver, defect: OutOfBounds, grid: Grid, values: tuple[Any, ...]
    ) -> None:
        """Say an access out of bounds while the launch runs, and record the call of the launch."""
        session = state.session
        if session is None or reason_not_recorded(session):
            return
        try:
            self._record_call(session, grid, values)
            observer.add_message(session, defect)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)

    def _say_long_loop(
        self, observer: DefectObserver, loop: str, trips: int, grid: Grid, values: tuple[Any, ...]
    ) -> None:
        """Say that a loop may not end, and record the call and its defects so far.

        Raises:
            KernelDefect: there is a defect, and the setting `sanitize` asks for an error.

        """
        session = state.session
        if session is None or reason_not_recorded(session):
            return
        try:
            self._record_call(session, grid, values)
            text = f"the loop at {loop} in kernel {self._kernel} still runs after {trips:,} trips"
            session.message("warning", "long-loop", text)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
        self._report_defects(observer, grid, values)
        observer.is_recorded = observer.has_defects

    @unseen
    def _record_call(self, session: "Session", grid: Grid, values: tuple[Any, ...]) -> int:
        """Record the call of a launch that has not returned; return its id, -1 if left out."""
        adapter, compiled = state.adapter, None if self.compiled is None else self.compiled()
        if adapter is None or compiled is None or not session.records_launches:
            return -1
        kernel_id = adapter.new_kernel(None, compiled)[0]
        if kernel_id < 0:
            return -1
        return adapter.coming(compiled, kernel_id, grid, values, {}).call_id

    @unseen
    def _report_defects(
        self, observer: DefectObserver, grid: tuple[int, int, int], values: tuple[Any, ...]
    ) -> None:
        """Record the defects of an executed launch as findings and messages.

        Raises:
            KernelDefect: there is a defect, and the setting `sanitize` asks for an error.

        """
        session = state.session
        if session is None or not observer.has_defects or reason_not_recorded(session):
            return
        if observer.is_recorded:
            return
        compiled = None if self.compiled is None else self.compiled()
        try:
            defect = observer.report(session, state.adapter, compiled, grid, values)
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            session.problem(error)
            return
        if defect is not None:
            raise defect

    def _reachable_storages(self, arguments: list[Argument]) -> list[TensorArgument]:
        """Return the storages of live tensors to which addresses in the tensor arguments point."""
        try:
            from kvtrace.backends.triton.runtime_arguments import storages_at

            return reached(arguments, storages_at)
        except Exception as error:  # noqa: BLE001 - counted; an access that needs them is refused
            if state.session is not None:
                state.session.problem(error)
            return []

    def _watchers(self) -> "tuple[Watch | None, list[Member]]":
        """Return the session's watch and the clients that watch this launch; (None, []) if none."""
        session = state.session
        if session is None or not (state.watched or session.settings.mode == "ops"):
            return None, []
        try:
            from kvtrace.backends.triton.watching import watch_of

            watch = watch_of(session)
            return watch, watch.members(self._kernel)
        except Exception as error:  # noqa: BLE001 - counted; the launch continues unwatched
            session.problem(error)
            return None, []

    def _ir(self) -> str:
        text = self._stage(self._evaluated_stage)
        if text is None:
            raise MissingIR(
                f"The {self._evaluated_stage.upper()} of kernel {self._kernel}, which is needed to "
                f"execute it without a GPU, is missing: {_missing_stage_advice(self._hash)}"
            )
        return with_program_locations(text, self._function)

    def _stage(self, stage: str) -> str | None:
        """Return a stage's text from the compiled kernel or from Triton's cache, else None."""
        if self._own_ttir is not None:
            return self._own_ttir if stage == "ttir" else None
        compiled = None if self.compiled is None else self.compiled()
        text = None if compiled is None else compiled.asm.get(stage)
        if isinstance(text, str):
            return text  # even if the cache has moved
        from triton.runtime.cache import get_cache_manager

        name = self._source_name[:150]  # as Triton cuts it
        files = get_cache_manager(self._hash).get_group(f"{name}.json") or {}
        path = files.get(f"{name}.{stage}")
        if path is None or not Path(path).is_file():
            return None
        return Path(path).read_text(encoding="utf-8")


def _missing_stage_advice(identity: str) -> str:
    """Return a sentence on why Triton's cache lacks a compiled kernel's TTIR, and what to do."""
    from triton import knobs
    from triton.runtime.cache import get_cache_manager

    if knobs.compilation.store_binary_only:
        return "TRITON_STORE_BINARY_ONLY caches machine code alone; unset it, and empty the cache."
    folder = getattr(get_cache_manager(identity), "cache_dir", None)
    if folder is None or not Path(folder).is_dir():
        return (
            f"Triton's cache is {knobs.cache.dir} now, but the kernel was compiled into another "
            "one; keep TRITON_CACHE_DIR as it was, or empty the cache."
        )
    return f"{folder} has machine code alone, or is incomplete; empty that cache."


def _takes_descriptors(ttir: str) -> bool:
    """Return whether a parameter of the kernel's function is a descriptor in TTIR."""
    return any(" public @" in line and "!tt.tensordesc" in line for line in ttir.splitlines())


def _defining_file(source: Any) -> str | None:
    """Return the file of the kernel's function; None for a kernel compiled from IR."""
    code = getattr(getattr(getattr(source, "fn", None), "fn", None), "__code__", None)
    return None if code is None else str(code.co_filename)
