"""The base of all clients: what they receive of each call, and what they return."""

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

#: Kinds of ops, as the column `ops.kind` has them.
KINDS: Final = ("load", "store", "atomic", "dot", "reduce", "scan", "elementwise", "other")

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Shared = TypeVar("_Shared", bound=Observer)


@dataclass(frozen=True, slots=True)
class Hook:
    """Which ops a method of a client wraps, and where."""

    ops: tuple[str, ...]
    when: When

    def matches(self, op: Op) -> bool:
        """Whether the op is one of them."""
        return "*" in self.ops or op.name in self.ops or kind_of(op) in self.ops


def on(*ops: str, when: When = "after") -> Callable[[_Method], _Method]:
    """Have a method of a client called with an `OpEvent` around ops.

    `ops` are names of ops (`"tt.load"`), kinds (`"load"`), or `"*"`. `when`: before the op is
    computed, after it, or in place of it (override).

    Raises:
        BadSetting: `when` or a kind is unknown.

    """
    if when not in get_args(When):
        raise BadSetting(f"ops are hooked before, after or override, not {when!r}")
    unknown = [op for op in ops if "." not in op and op not in (*KINDS, "*")]
    if unknown or not ops:
        raise BadSetting(
            f"{', '.join(map(repr, unknown)) or 'nothing'} is not a kind of op: they are "
            f"{', '.join(KINDS)}; an op's name has a dot, such as tt.load; * is every op"
        )

    def register(method: _Method) -> _Method:
        hooks: tuple[Hook, ...] = getattr(method, "_kvtrace_hooks", ())
        method._kvtrace_hooks = (*hooks, Hook(ops, when))  # type: ignore[attr-defined]
        return method

    return register


class StepFailed(Exception):
    """Carries what the evaluation itself raised through a client's override."""

    def __init__(self, error: KvtraceError) -> None:
        super().__init__(str(error))
        self.error = error


class Client(Observer):
    """Override what you want to observe; nothing else is worked out for you.

    For each unique call of a run, in this order: `pre_run`, `arg` for each argument, `grid`,
    `programs`; then, while the kernel is evaluated and in batches of programs, `op`, `access`,
    `out_of_bounds` and `loop` (see `Observer`) and the methods under `@on`; then `post_run`. At
    the end of the run `finalize`.

    Attributes:
        tables: the tables that `finalize` gives rows of: of the format, by their names (`"ops"`),
            or the client's own (`client_table`).
        observers: classes of observers that several clients may want; each evaluation makes one
            of each for all of them (by its class method `of_call`, if it has one, from the
            call), which `observer` gives from `pre_run`'s end to `post_run`.
        thread_safe: whether the methods may be called from several threads at once. Else they
            are called one at a time.
        by_call: whether what it makes of a call depends on that call alone, so that several
            clients of the kind, on several machines, can each have some of a run's calls.
        name: what the client was chosen by.
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
        """Look at an argument of the call, a tensor or a scalar."""

    def grid(self, extents: tuple[int, int, int]) -> None:
        """Look at the grid of the call."""

    def programs(self, extents: tuple[int, int, int]) -> Sequence[int] | None:
        """Choose the programs to evaluate, by linear id (x fastest); None: all of them.

        Other clients still observe all. The files of the client say that they depend on a sample,
        unless it wants none at all: one that needs no evaluation of the call.
        """
        del extents
        return None

    def post_run(self, call: Call) -> None:
        """Take the result of a call whose evaluation is over."""

    def failed(self, call: Call | UnreadyCall, reason: str) -> None:
        """Note that a call could not be evaluated, or not to its end; `post_run` follows.

        A call whose record lacks something (an `UnreadyCall`) gets nothing but this.
        """

    def finalize(self) -> Mapping[str, Rows]:
        """Return the rows of each table, by its name. May be called several times."""
        return {}

    def settings(self) -> Mapping[str, Any]:
        """Return what the metadata of the client's files are to say; JSON can hold it."""
        return {}

    def joined_settings(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the settings of a run whose calls several clients had (`by_call`), from theirs."""
        return parts[0] if parts else self.settings()

    # -- for use by clients ----------------------------------------------------------------

    def stack(self, op: Op) -> int | None:
        """Return the id of an op's source stack, whose row the client's files then have."""
        return self.stacks.add(source_stack(op))

    @property
    def stacks(self) -> StackRows:
        """The rows of `stacks` that the client's rows refer to."""
        found: StackRows = self.__dict__.setdefault("_stacks", StackRows())
        return found

    def observer(self, kind: type[_Shared]) -> _Shared:
        """Return the observer of this evaluation that all clients share; see `observers`."""
        found = self.__dict__["_shared"][kind]
        assert isinstance(found, kind)
        return found


_WITHOUT_HOOKS = frozenset(Client.__mro__)


def hooks_of(client: Client) -> list[tuple[Hook, Callable[..., Any]]]:
    """Return the hooked methods of a client, in the order of their definition, bases first."""
    names: dict[str, None] = {}
    for base in reversed(type(client).__mro__):
        if base not in _WITHOUT_HOOKS:
            names.update(dict.fromkeys(vars(base)))
    found = []
    for name in names:
        hooks: tuple[Hook, ...] = getattr(getattr(type(client), name, None), "_kvtrace_hooks", ())
        found += [(hook, getattr(client, name)) for hook in hooks]
    return found
