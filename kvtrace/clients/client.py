"""The base class of clients: the events that a client receives, and the tables that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

from kvtrace.evaluate import Argument, Observer
from kvtrace.ir import Op, source_stack
from kvtrace.metrics.of_ops import kind_of
from kvtrace.metrics.stacks import StackRows
from kvtrace.schema.errors import BadSetting, KvtraceError

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.recorded_calls.recorded import Call, UnreadyCall
    from kvtrace.schema.table_types import Table

When = Literal["before", "after", "override"]
Rows: TypeAlias = "pa.Table | Iterable[Mapping[str, Any]]"

#: Kinds of ops, as in the column `ops.kind`.
KINDS: Final = ("load", "store", "atomic", "dot", "reduce", "scan", "elementwise", "other")

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Shared = TypeVar("_Shared", bound=Observer)


@dataclass(frozen=True, slots=True)
class Hook:
    """The ops that a client's method wraps, and whether before, after or instead of the op."""

    ops: tuple[str, ...]
    when: When

    def matches(self, op: Op) -> bool:
        """Return whether the method wraps the op."""
        return "*" in self.ops or op.name in self.ops or kind_of(op) in self.ops


def on(*ops: str, when: When = "after") -> Callable[[_Method], _Method]:
    """Decorate a client's method to be called with an `OpEvent` around ops.

    `ops` are names of ops (`"tt.load"`), kinds (`"load"`), or `"*"`. `when` is before or after the
    op is computed, or override: the method computes the op.

    Raises:
        BadSetting: `when` or a kind is unknown.

    """
    if when not in get_args(When):
        raise BadSetting(f"ops are hooked before, after or override, not {when!r}")
    unknown = [op for op in ops if "." not in op and op not in (*KINDS, "*")]
    if unknown or not ops:
        raise BadSetting(
            f"{', '.join(map(repr, unknown)) or 'nothing'} is not a kind of op: kinds are "
            f"{', '.join(KINDS)}; an op's name has a dot, such as tt.load; * is every op"
        )

    def register(method: _Method) -> _Method:
        hooks: tuple[Hook, ...] = getattr(method, "_kvtrace_hooks", ())
        method._kvtrace_hooks = (*hooks, Hook(ops, when))  # type: ignore[attr-defined]
        return method

    return register


class StepFailed(Exception):
    """An error of the evaluation itself, raised through a client's override."""

    def __init__(self, error: KvtraceError) -> None:
        super().__init__(str(error))
        self.error = error


class Client(Observer):
    """A client: override the methods of the events to observe; other events cost nothing.

    For each unique call of a run, kvtrace calls `pre_run`, `arg` for each argument, `grid` and
    `programs`; then, during the evaluation and in batches of programs, `op`, `access`,
    `out_of_bounds` and `loop` (see `Observer`) and the methods decorated by `@on`; then `post_run`.
    At the end of the run it calls `finalize`.

    Attributes:
        tables: the tables that `finalize` returns: names of the format's tables (`"ops"`), or
            tables of the client (`client_table`).
        observers: classes of observers shared with other clients. Each evaluation makes one
            observer of a class for all clients, by the class method `of_call(call)` if there is
            one; `observer` returns it from the end of `pre_run` to `post_run`.
        thread_safe: the methods may be called from several threads at once. Otherwise they are
            called one at a time.
        by_call: the rows of a call depend on that call alone, so that several clients of the
            class, on several machines, can each evaluate some of a run's calls.
        name: the name by which the client was selected.
        call: the call that is being evaluated.

    """

    tables: ClassVar[tuple[Table | str, ...]] = ()
    observers: ClassVar[tuple[type[Observer], ...]] = ()
    thread_safe: ClassVar[bool] = False
    by_call: ClassVar[bool] = False
    name: str = ""
    call: Call

    def pre_run(self, call: Call) -> None:
        """Prepare for a call."""

    def arg(self, name: str, argument: Argument) -> None:
        """Receive an argument of the call, a tensor or a scalar."""

    def grid(self, extents: tuple[int, int, int]) -> None:
        """Receive the grid of the call."""

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Return the programs to evaluate, as linear ids (x fastest), or None for all.

        Other clients are not affected. The client's files are marked as a sample, unless the result
        is empty: then the client needs no evaluation of the call.
        """
        del extents
        return None

    def post_run(self, call: Call) -> None:
        """Collect the results of a call after its evaluation."""

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Note that a call could not be evaluated completely; `post_run` follows.

        For a call with an incomplete record (an `UnreadyCall`), only this method is called.
        """

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of each table, by the table's name. May be called several times."""
        return {}

    def settings(self) -> Mapping[str, Any]:
        """Return metadata for the client's files, as a JSON object."""
        return {}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the metadata of a run from those of several clients (see `by_call`)."""
        return parts[0] if parts else self.settings()

    # -- for use by clients ----------------------------------------------------------------

    def stack(self, op: Op) -> int | None:
        """Return the id of an op's source stack, and add the stack to the client's files."""
        return self.stacks.add(source_stack(op))

    @property
    def stacks(self) -> StackRows:
        """Rows of table `stacks` that the client's rows refer to."""
        rows: StackRows = self.__dict__.setdefault("_stacks", StackRows())
        return rows

    def observer(self, kind: type[_Shared]) -> _Shared:
        """Return the observer of a class that all clients of this evaluation share."""
        observer = self.__dict__["_shared"][kind]
        assert isinstance(observer, kind)
        return observer


_WITHOUT_HOOKS = frozenset(Client.__mro__)


def hooks_of(client: Client) -> list[tuple[Hook, Callable[..., Any]]]:
    """Return the decorated methods of a client, those of base classes first."""
    names: dict[str, None] = {}
    for base in reversed(type(client).__mro__):
        if base not in _WITHOUT_HOOKS:
            names.update(dict.fromkeys(vars(base)))
    methods = []
    for name in names:
        hooks: tuple[Hook, ...] = getattr(getattr(type(client), name, None), "_kvtrace_hooks", ())
        methods += [(hook, getattr(client, name)) for hook in hooks]
    return methods
