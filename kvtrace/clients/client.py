"""The base class of clients: the events that a client receives, and the tables that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, TypeVar, get_args

from msgspec import Struct

from kvtrace.evaluate import Argument, Observer
from kvtrace.ir import Op, source_stack
from kvtrace.metrics.of_ops import kind_of
from kvtrace.schema.content import StackRows
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


class Hook(Struct, frozen=True):
    """The ops around which a client's method is called: before, after, or in place of the op."""

    ops: tuple[str, ...]
    when: When

    def matches(self, op: Op) -> bool:
        """Return whether the method is called for the op: by its name, its kind, or `*`."""
        return "*" in self.ops or op.name in self.ops or kind_of(op) in self.ops


def on(*ops: str, when: When = "after") -> Callable[[_Method], _Method]:
    """Return a decorator of a client's method that is called with an `OpEvent` around ops.

    `ops` are names of ops (`"tt.load"`), kinds (`"load"`), or `"*"`. `when` is before or after the
    op is computed, or override: the method computes the op's results.

    Raises:
        BadSetting: `when` or a kind is unknown.

    """
    if when not in get_args(When):
        raise BadSetting(f"on(…, when={when!r}): when has to be before, after or override")
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
    """Carrier of an evaluation's error through a client's override, which is not at fault."""

    def __init__(self, error: KvtraceError) -> None:
        super().__init__(str(error))
        self.error = error


class Client(Observer):
    """The base class of clients: override the methods of events; other events cost nothing.

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
        thread_safe: whether methods may be called from several threads at once. Otherwise they are
            called one at a time.
        by_call: whether the rows of a call depend only on that call, so that several clients of
            the class, on several machines, can each evaluate some of a run's calls.
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
        """Prepare for a call; called first for each call."""

    def arg(self, name: str, argument: Argument) -> None:
        """Observe an argument of the call, a tensor or a scalar."""

    def grid(self, extents: tuple[int, int, int]) -> None:
        """Observe the grid of the call."""

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Return the programs to evaluate, as linear ids (x fastest), or None for all.

        Other clients are not affected. The client's files are marked as a sample, unless the result
        is empty: then the call is not evaluated for the client.
        """
        del extents
        return None

    def post_run(self, call: Call) -> None:
        """Collect the results of a call; called after its evaluation."""

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Observe that a call was not evaluated completely; `post_run` is called afterwards.

        For a call whose record is incomplete (an `UnreadyCall`), only this method is called.
        """

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of each table, by the table's name. May be called several times."""
        return {}

    def settings(self) -> Mapping[str, Any]:
        """Return a JSON object that is stored as metadata of the client's files."""
        return {}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the metadata of a run, given the `settings` of several clients (see `by_call`)."""
        return parts[0] if parts else self.settings()

    # -- for use by clients ----------------------------------------------------------------

    def stack(self, op: Op) -> int | None:
        """Return the id of an op's source stack, and add it to `stacks`; None without locations."""
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
    """Return the decorated methods of a client, methods of base classes first."""
    names: dict[str, None] = {}
    for base in reversed(type(client).__mro__):
        if base not in _WITHOUT_HOOKS:
            names.update(dict.fromkeys(vars(base)))
    methods = []
    for name in names:
        hooks: tuple[Hook, ...] = getattr(getattr(type(client), name, None), "_kvtrace_hooks", ())
        methods += [(hook, getattr(client, name)) for hook in hooks]
    return methods
