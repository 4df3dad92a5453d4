"""Judgment of each new call before its first launch, for the setting `sanitize` (warn, raise).

A backend passes a launch when kernel, grid and values are known, before it runs. A recorder of its
own, which stores only the identities of calls, decides whether the call is new, so a known call
costs a look-up. The recorder of launches is not used.

Without a GPU, the defects that the evaluator finds in a launch are also recorded here
(`record_defects`): as findings with any setting, and reported or raised as `sanitize` says.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol

from kvtrace.backends.compiled_kernels.recorded_calls import PendingLaunch
from kvtrace.backends.compiled_kernels.unevaluated import reason_not_recorded
from kvtrace.capture.adapters import Apart
from kvtrace.capture.copied_contents import LIMIT_BYTES, SMALL_BYTES
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.hot import NO_DEVICE
from kvtrace.capture.hot_choice import make_recorder
from kvtrace.capture.records import ArgumentRecord
from kvtrace.capture.stacks import current_stack
from kvtrace.schema.errors import BadSetting, KernelDefect, KvtraceError
from kvtrace.surroundings import print_error

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.call_judge import CallJudge, NewCall
    from kvtrace.capture.session import Session
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.settings import Tensors
    from kvtrace.verdicts.verdict import Verdict

_NO_NAMES: Final[dict[str, Any]] = {}


class Adapter(Protocol):
    """The functions of a backend that record kernels and describe launches for judging."""

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a variant; return kernel id and device as `adapters.Adapter`."""

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> PendingLaunch | None:
        """Return the description of a launch, after recording its call if that is new.

        None if the launch cannot be judged.
        """


class LaunchJudge:
    """The judgment of one backend's launches in one session."""

    def __init__(self, session: "Session", adapter: Adapter) -> None:
        """Make a recorder of call identities; rules are imported at the first new call."""
        self._session = session
        self._adapter = adapter
        self._raises = session.settings.sanitize == "raise"
        self._known_calls = make_recorder(
            session.identities, session.problem, session.settings.max_calls
        )
        self._defects: dict[int, KernelDefect] = {}
        _all.add(self)

    def before(
        self,
        kernel: Any,
        grid: tuple[Any, Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        owner: Any = None,
    ) -> None:
        """Judge a launch that is about to be made, if its call is new.

        Raises:
            KernelDefect: The call has a defect, and `sanitize=raise` is set.

        """
        if not self._session.records_launches:
            return
        try:
            self._known_calls.record(self, owner, kernel, grid, args, kwargs, 0, 0)
        except KernelDefect:
            raise
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)

    def around(self, kernel: Any, launcher: Callable[..., Any], first: int) -> Callable[..., Any]:
        """Return a function that does as `before` and then calls `launcher` with its arguments.

        The arguments are the grid's three numbers, other values, and from index `first` on the
        kernel's values. Known calls cost less than by `before`.
        """
        record, session = self._known_calls.record, self._session

        def judged(*arguments: Any) -> Any:
            if session.records_launches:
                try:
                    record(self, None, kernel, arguments[:3], arguments[first:], _NO_NAMES, 0, 0)
                except KernelDefect:
                    raise
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    session.problem(error)
            return launcher(*arguments)

        return judged

    def forget(self) -> None:
        """Forget all judged calls; called in a forked process, which records a separate run."""
        self._known_calls.forget()
        self._defects.clear()

    # -- called by the hot path for new kernels and calls -----------------------------------------

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int]:
        """Record a variant by the backend's adapter; return its kernel id and no device."""
        return (self._adapter.new_kernel(owner, kernel)[0], NO_DEVICE, -1)

    def new_call(
        self,
        _owner: Any,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Judge a new call, and return -1, so that its launches are not recorded here.

        Raises:
            KernelDefect: The call has a defect, and `sanitize=raise` is set.

        """
        launch = self._adapter.coming(kernel, kernel_id, grid, args, kwargs)
        if launch is None:
            return -1
        earlier = self._defects.get(launch.call_id)
        defect = self._judged(launch) if earlier is None else earlier
        if defect is not None:
            self._defects[launch.call_id] = defect
            raise KernelDefect(str(defect), defect.findings)
        return -1

    def _judged(self, launch: PendingLaunch) -> KernelDefect | None:
        """Judge a call, report its defects, and return the error that forbids the launch, or None.

        If judging fails, a message is recorded and the launch is allowed.
        """
        if 0 in launch.grid:
            return None  # nothing runs
        try:
            live = judge_of(self._session)
            findings = live.judge(_new_call(launch, _usable_contents(self._session)))
            self._session.report_defects(launch.call_id, findings)
            is_refused = self._raises and live.refuses(findings)
            defect = live.defect(findings, color=not is_refused and _shows_color())
            if defect is not None and not is_refused and live.mark_reported(findings):
                print_error(f"{launch.kernel} is launched with a defect:\n{defect}")
            if defect is not None:
                self._add_message(launch, findings[0].rule, len(findings), is_refused)
        except Exception as error:  # noqa: BLE001 - counted; the launch continues unjudged
            text = f"a call of {launch.kernel} could not be judged: {type(error).__name__}: {error}"
            self._session.message("info", "not-judged", text)
            if isinstance(error, KvtraceError):
                judge_of(self._session).add_unjudged(launch.call_id, launch.kernel, str(error))
            return None
        return defect if is_refused else None

    def _add_message(self, launch: PendingLaunch, rule: str, count: int, is_refused: bool) -> None:
        outcome = "was not launched" if is_refused else "was launched nevertheless"
        others = f" (findings in all: {count})" if count > 1 else ""
        text = f"call {launch.call_id} of {launch.kernel} {outcome}: {rule}{others}"
        self._session.message("info", "defect", text)


_all: "weakref.WeakSet[LaunchJudge]" = weakref.WeakSet()
_lives: "weakref.WeakKeyDictionary[Session, CallJudge]" = weakref.WeakKeyDictionary()


def judge_of(session: "Session") -> "CallJudge":
    """Return the session's judge of new calls, made at the first call and shared by backends."""
    live = _lives.get(session)
    if live is None:
        from kvtrace.backends.compiled_kernels.call_judge import CallJudge

        live = _lives[session] = CallJudge(_rules(session), session.settings.strict)
        session.at_end.append(lambda: _finish(session, live))
    return live


def has_reported(session: "Session", file: str, line: int) -> bool:
    """Return whether a defect at that line was reported when its call was judged."""
    live = _lives.get(session)
    return live is not None and live.has_reported(file, line)


def record_defects(
    session: "Session", launch: PendingLaunch, verdicts: "Callable[[Call], Iterable[Verdict]]"
) -> KernelDefect | None:
    """Record the defects of an executed launch, and report them if calls are judged.

    Args:
        session: The recording.
        launch: The launch that has just run.
        verdicts: A function from the call to the verdicts of the execution.

    Returns:
        The error to raise, if the setting `sanitize` asks for an error, else None.

    """
    new_call, live = _new_call(launch, _usable_contents(session)), judge_of(session)
    findings = live.add_observed(new_call, verdicts(new_call.call))
    session.report_defects(launch.call_id, findings)
    if session.settings.sanitize == "off" or not findings:
        return None
    is_refused = session.settings.sanitize == "raise" and live.refuses(findings)
    defect = live.defect(findings, color=not is_refused and _shows_color())
    if live.mark_reported(findings) and not is_refused:
        print_error(f"{launch.kernel} was launched with a defect:\n{defect}")
    return defect if is_refused else None


def _usable_contents(session: "Session") -> "Tensors":
    """Return which contents to use: those that are recorded; "none" if a launch did not run."""
    return "none" if reason_not_recorded(session) else session.settings.tensors


def _new_call(launch: PendingLaunch, setting: "Tensors") -> "NewCall":
    from kvtrace.backends.compiled_kernels.call_judge import NewCall
    from kvtrace.recorded_calls.reading import call_of

    rows, values = _argument_rows(launch, setting)
    call = call_of(
        {"call_id": launch.call_id, "args": rows}
        | dict(zip(("grid_x", "grid_y", "grid_z"), launch.grid, strict=True)),
        {"name": launch.kernel, "signature": list(map(asdict, launch.parameters))},
        launch.module(),
        values.get,
    )
    return NewCall(call, rows, *launch.place(), current_stack())


def _finish(session: "Session", live: "CallJudge") -> None:
    if session.run_id is not None:
        live.finish(session.out, session.run_id)


def _rules(session: "Session") -> tuple[str, ...]:
    from kvtrace.verdicts.rules.choice import rule_ids
    from kvtrace.verdicts.rules.table import RULES

    try:
        rules = rule_ids([session.settings.rules])
    except BadSetting as error:
        session.message("warning", "bad-setting", f"{error} LaunchJudge by the default rules.")
        rules = rule_ids(["default"])
    return tuple(rule for rule in rules if rule in RULES)


def _argument_rows(
    launch: PendingLaunch, setting: "Tensors"
) -> tuple[list[dict[str, Any]], Mapping[str, bytes]]:
    """Return the arguments as rows of `calls.args`, and contents by the rows' artifact."""
    rows, contents = [], {}
    for index, (record, value) in enumerate(zip(launch.records, launch.values, strict=True)):
        row = asdict(record)
        del row["value"]
        content = _contents(record, value, setting)
        row["value_artifact"] = None if content is None else str(index)
        if content is not None:
            contents[str(index)] = content
        rows.append(row)
    return rows, contents


def _contents(record: ArgumentRecord, value: Any, setting: "Tensors") -> bytes | None:
    """Return the current bytes of a tensor whose contents are recorded with the setting, or None.

    On a GPU, reading waits for the device, so bytes are read only with the settings int and all.
    """
    is_requested = setting == "all" or (setting != "none" and (record.dtype or " ")[0] in "iu")
    if record.kind != "tensor" or not is_requested:
        return None
    limit = SMALL_BYTES if setting == "index" else LIMIT_BYTES
    if record.storage_bytes is None or record.storage_bytes > limit:
        return None
    if setting == "index" and memory_kind(value) != "cpu":
        return None
    return storage_contents(value)


def storage_contents(value: Any) -> bytes | None:
    """Return the bytes of a tensor's whole storage, copied to the host; None without torch."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(value, "untyped_storage"):
        return None
    from torch.utils._mode_utils import no_dispatch

    with no_dispatch(), _unobserved(torch):
        storage = value.untyped_storage()
        storage_bytes = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
        return bytes(storage_bytes.cpu().numpy().tobytes())


@contextmanager
def _unobserved(torch: Any) -> Iterator[None]:
    """Keep this thread's operators from what watches them: profilers, and recorded memory."""
    enable = getattr(torch.autograd, "_enable_record_function", lambda _is_on: None)
    enable(False)
    try:
        yield
    finally:
        enable(True)


def _shows_color() -> bool:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    try:
        return not is_plain and sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False  # standard error is closed, or replaced by something simple


def _after_fork_in_child() -> None:
    for judging in list(_all):
        judging.forget()
    for live in list(_lives.values()):
        live.forget()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
