"""Judging each new call before its first launch, for the setting `sanitize` (warn, raise).

A backend hands a launch over when kernel, grid and values are known and nothing runs yet. A
separate hot path decides whether its call is new, which keeps nothing but the identities of calls:
a known call costs a look-up. The hot path that records is not touched.

Where there is no GPU, what the evaluator sees a launch do comes here too (`saw`), whatever the
setting: it is kept as findings, and reported or raised as the setting asks.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol

from kvtrace.backends.compiled_kernels.unevaluated import why_unclaimed
from kvtrace.capture.adapters import Apart
from kvtrace.capture.arguments import storage_contents
from kvtrace.capture.copied_contents import LIMIT_BYTES, SMALL_BYTES
from kvtrace.capture.host_devices import memory_kind
from kvtrace.capture.hot import NO_DEVICE
from kvtrace.capture.hot_choice import make_recorder
from kvtrace.capture.records import ArgumentRecord, Parameter
from kvtrace.capture.stacks import current_stack
from kvtrace.schema.errors import BadSetting, KernelDefect, KvtraceError

if TYPE_CHECKING:
    from kvtrace.backends.compiled_kernels.live import Live, NewCall
    from kvtrace.capture.session import Session
    from kvtrace.ir import Module
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.settings import Tensors
    from kvtrace.verdicts.verdict import Verdict

_NO_NAMES: Final[dict[str, Any]] = {}


class Launch(Protocol):
    """A launch that is to come, as its backend knows it."""

    @property
    def call_id(self) -> int:
        """The call, which is recorded; -1 if it is not to be."""

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def place(self) -> tuple[str | None, int | None]:
        """File and line of the kernel's definition."""

    @property
    def grid(self) -> tuple[int, int, int]:
        """The grid."""

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The kernel's flattened signature."""

    @property
    def records(self) -> Sequence[ArgumentRecord]:
        """The arguments, in the order of the parameters."""

    @property
    def values(self) -> Sequence[Any]:
        """The arguments themselves, in the order of the parameters."""

    def module(self) -> "Module":
        """Read the kernel's IR; made once for a kernel."""


class Adapter(Protocol):
    """A backend's side: what it knows of a launch that is to come."""

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int] | Apart:
        """Record a compiled variant; see `adapters.Adapter`."""

    def coming(
        self,
        kernel: Any,
        kernel_id: int,
        grid: tuple[int, int, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Launch | None:
        """Describe a launch, and record its call if that is new; None if it cannot be judged."""


class Judging:
    """Judges the launches of one backend in one session."""

    def __init__(self, session: "Session", adapter: Adapter) -> None:
        """Make what judges; nothing heavy is imported before the first new call."""
        self._session = session
        self._adapter = adapter
        self._raises = session.settings.sanitize == "raise"
        self._seen, _ = make_recorder(
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
        """Judge the launch that comes now, if its call is new.

        Raises:
            KernelDefect: it has a defect, and the user asked for that.

        """
        if not self._session.recording:
            return
        try:
            self._seen.record(self, owner, kernel, grid, args, kwargs, 0, 0)
        except KernelDefect:
            raise
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)

    def around(self, kernel: Any, launcher: Callable[..., Any], first: int) -> Callable[..., Any]:
        """Judge before each call of a launcher: `before`, without its costs for known calls.

        The launcher is given the grid, other things, and from place `first` on the values.
        """
        record, session = self._seen.record, self._session

        def judged(*given: Any) -> Any:
            if session.recording:
                try:
                    record(self, None, kernel, given[:3], given[first:], _NO_NAMES, 0, 0)
                except KernelDefect:
                    raise
                except Exception as error:  # noqa: BLE001 - counted; never the program's problem
                    session.problem(error)
            return launcher(*given)

        return judged

    def forget(self) -> None:
        """Forget what was judged: a forked process begins a separate run."""
        self._seen.forget()
        self._defects.clear()

    # -- what the hot path calls for what it has not seen ---------------------------------------

    def new_kernel(self, owner: Any, kernel: Any) -> tuple[int, int, int]:
        """Record a compiled variant; see `adapters.Adapter`."""
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
        """Judge a call. It is then known, and its launches are not recorded here."""
        launch = self._adapter.coming(kernel, kernel_id, grid, args, kwargs)
        if launch is None:
            return -1
        known = self._defects.get(launch.call_id)
        defect = self._judged(launch) if known is None else known
        if defect is not None:
            self._defects[launch.call_id] = defect
            raise KernelDefect(str(defect), defect.findings)
        return -1

    def _judged(self, launch: Launch) -> KernelDefect | None:
        """Judge a call; give what forbids its launch. After a failure of kvtrace it is launched."""
        if 0 in launch.grid:
            return None  # nothing runs
        try:
            live = live_of(self._session)
            found = live.judge(_new_call(launch, _claimed(self._session)))
            self._session.tell_defects(launch.call_id, found)
            refused = self._raises and live.refuses(found)
            defect = live.defect(found, color=not refused and _shows_color())
            if defect is not None and not refused and live.is_news(found):
                _print(f"{launch.kernel} is launched with a defect:\n{defect}")
            if defect is not None:
                self._say(launch, found[0].rule, len(found), refused)
        except Exception as error:  # noqa: BLE001 - counted; the launch continues unjudged
            text = f"a call of {launch.kernel} could not be judged: {type(error).__name__}: {error}"
            self._session.message("info", "not-judged", text)
            if isinstance(error, KvtraceError):
                live_of(self._session).could_not_judge(launch.call_id, launch.kernel, str(error))
            return None
        return defect if refused else None

    def _say(self, launch: Launch, rule: str, count: int, refused: bool) -> None:
        done = "was not launched" if refused else "was launched all the same"
        others = f" and {count - 1} more" if count > 1 else ""
        text = f"call {launch.call_id} of {launch.kernel} {done}: {rule}{others}"
        self._session.message("info", "defect", text)


_all: "weakref.WeakSet[Judging]" = weakref.WeakSet()
_lives: "weakref.WeakKeyDictionary[Session, Live]" = weakref.WeakKeyDictionary()


def live_of(session: "Session") -> "Live":
    """Return what judges in a session, made when it is first asked for; all backends share it."""
    found = _lives.get(session)
    if found is None:
        from kvtrace.backends.compiled_kernels.live import Live

        found = _lives[session] = Live(_rules(session), session.settings.strict)
        session.at_end.append(lambda: _finish(session, found))
    return found


def has_told(session: "Session", file: str, line: int) -> bool:
    """Whether a defect at that place has been reported before the launch."""
    live = _lives.get(session)
    return live is not None and live.has_told(file, line)


def saw(
    session: "Session", launch: Launch, verdicts: "Callable[[Call], Iterable[Verdict]]"
) -> KernelDefect | None:
    """Keep what a launch was seen to do, and tell it where calls are judged.

    Args:
        session: what records.
        launch: the launch that has just run.
        verdicts: gives what was seen of a call.

    Returns:
        The error to raise, where the setting `sanitize` asks for that.

    """
    new, live = _new_call(launch, _claimed(session)), live_of(session)
    found = live.saw(new, verdicts(new.call))
    session.tell_defects(launch.call_id, found)
    if session.settings.sanitize == "off" or not found:
        return None
    refused = session.settings.sanitize == "raise" and live.refuses(found)
    defect = live.defect(found, color=not refused and _shows_color())
    if live.is_news(found) and not refused:
        _print(f"{launch.kernel} was launched with a defect:\n{defect}")
    return defect if refused else None


def _claimed(session: "Session") -> "Tensors":
    """Return which contents a call is judged with: none, once a launch did not run."""
    return "none" if why_unclaimed(session) else session.settings.tensors


def _new_call(launch: Launch, setting: "Tensors") -> "NewCall":
    from kvtrace.backends.compiled_kernels.live import NewCall
    from kvtrace.recorded_calls.recorded import call_of

    rows, values = _argument_rows(launch, setting)
    call = call_of(
        {"call_id": launch.call_id, "args": rows} | _grid_columns(launch.grid),
        {"name": launch.kernel, "signature": [asdict(each) for each in launch.parameters]},
        launch.module(),
        values.get,
    )
    return NewCall(call, rows, *launch.place, current_stack())


def _finish(session: "Session", live: "Live") -> None:
    if session.run_id is not None:
        live.finish(session.out, session.run_id)


def _rules(session: "Session") -> tuple[str, ...]:
    from kvtrace.verdicts.rules.choice import rule_ids
    from kvtrace.verdicts.rules.table import RULES

    try:
        chosen = rule_ids([session.settings.rules])
    except BadSetting as error:
        session.message("warning", "bad-setting", f"{error} Judging by the default rules.")
        chosen = rule_ids(["default"])
    return tuple(rule for rule in chosen if rule in RULES)


def _argument_rows(
    launch: Launch, setting: "Tensors"
) -> tuple[list[dict[str, Any]], Mapping[str, bytes]]:
    """Return arguments as rows of `calls.args`, and the contents of those that are kept."""
    rows, contents = [], {}
    for number, (record, value) in enumerate(zip(launch.records, launch.values, strict=True)):
        row = asdict(record)
        del row["value"]
        held = _contents(record, value, setting)
        row["value_artifact"] = None if held is None else str(number)
        if held is not None:
            contents[str(number)] = held
        rows.append(row)
    return rows, contents


def _contents(record: ArgumentRecord, value: Any, setting: "Tensors") -> bytes | None:
    """Return what a tensor holds now, as far as the setting asks for it.

    On a GPU that waits for the device, which is done for the settings that ask for all of it only.
    """
    wanted = setting == "all" or (setting != "none" and (record.dtype or " ")[0] in "iu")
    if record.kind != "tensor" or not wanted:
        return None
    limit = SMALL_BYTES if setting == "index" else LIMIT_BYTES
    if record.storage_bytes is None or record.storage_bytes > limit:
        return None
    if setting == "index" and memory_kind(value) != "cpu":
        return None
    return storage_contents(value)


def _grid_columns(grid: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))


def _shows_color() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    try:
        return not plain and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False  # standard error is closed, or replaced by something simple


def _print(text: str) -> None:
    try:
        print(f"kvtrace: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return  # standard error is closed: there is nobody to tell


def _after_fork_in_child() -> None:
    for judging in list(_all):
        judging.forget()
    for live in list(_lives.values()):
        live.forget()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
