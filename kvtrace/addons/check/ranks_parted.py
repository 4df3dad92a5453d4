"""First memory that the ranks of one job no longer hold alike, found by recorded digests.

Ranks of data-parallel training hold equal parameters and, once reduced, equal gradients; batches
and activations differ from the start. So memory counts as shared if its digests were equal on all
ranks at the first two launches of a kernel that have one of it. The n-th launches of a kernel are
compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from kvtrace.addons.check.diff_results import upstream
from kvtrace.addons.check.digested import AFTER, DigestedLaunch, are_alike, digested_launches
from kvtrace.figures.identity import KernelKey
from kvtrace.schema.trace import Run, Trace

#: Launches at which ranks must have held equal bytes before a difference is news.
_ALIKE: Final = 2

#: The launches of one kernel that have one number on all ranks, in the order of ranks.
_Row = tuple[DigestedLaunch, ...]


class _Series(NamedTuple):
    """Bytes of one argument on all ranks, before or after each launch of a kernel."""

    arg: int
    when: str
    rows: Sequence[_Row]
    equal: int
    """The number of launches before the first at which the ranks differ."""


class RanksParted(Struct, frozen=True):
    """Number of digests that ranks of a job had alike, and a sentence on the first that parts."""

    ranks: tuple[int, ...]
    shared: int
    first: str

    @property
    def text(self) -> str:
        """One sentence on the ranks."""
        ranks = f"ranks {', '.join(map(str, self.ranks))}"
        if self.first:
            return f"{ranks}: {self.first}"
        if not self.shared:
            return f"{ranks}: no memory of a launch was equal on all of them at the start"
        return f"{ranks}: all {self.shared:,} results that were equal at the start stayed equal"


def ranks_parted(trace: Trace, runs: Sequence[Run]) -> RanksParted | None:
    """Return where the ranks of a job parted; None if fewer than two have digests."""
    if len({run.rank for run in runs} - {None}) < 2:
        return None
    launches: dict[int, Mapping[KernelKey, Sequence[DigestedLaunch]]] = {}
    runs_by_rank: dict[int, Run] = {}
    for run in runs:  # a rank's workers have its number, too, and no launches
        if run.rank is None or run.rank in launches:
            continue
        if by_kernel := digested_launches(trace, run):
            launches[run.rank], runs_by_rank[run.rank] = by_kernel, run
    ranks = tuple(sorted(launches))
    if len(ranks) < 2:
        return None
    series = [s for s in _all_series([launches[rank] for rank in ranks]) if s.equal >= _ALIKE]
    parted = [s for s in series if s.equal < len(s.rows)]
    first = min(parted, key=lambda s: (s.rows[s.equal][0].seq, s.when == AFTER), default=None)
    text = ""
    if first is not None:
        text = _first_text(trace, [runs_by_rank[rank] for rank in ranks], first, series)
    return RanksParted(ranks, sum(s.equal for s in series), text)


def _all_series(sides: Sequence[Mapping[KernelKey, Sequence[DigestedLaunch]]]) -> Iterator[_Series]:
    for key in sides[0]:
        rows = list(zip(*(side.get(key, ()) for side in sides), strict=False))
        rows = [row for row in rows if all(are_alike(row[0], other) for other in row[1:])]
        for arg, when in sorted({name for row in rows for name in row[0].digests}):
            having = [row for row in rows if (arg, when) in row[0].digests]
            differing = (
                n for n, row in enumerate(having) if len(set(_digests(row, arg, when))) > 1
            )
            yield _Series(arg, when, having, next(differing, len(having)))


def _digests(row: _Row, arg: int, when: str) -> list[int]:
    """Return the digests of the ranks at a launch."""
    return [launch.digests[arg, when][0] for launch in row]


def _first_text(
    trace: Trace, runs: Sequence[Run], first: _Series, series: Sequence[_Series]
) -> str:
    """Return a sentence on the launch at which ranks part, and on what ran before it."""
    row = first.rows[first.equal]
    digests = _digests(row, first.arg, first.when)
    usual, count = Counter(digests).most_common(1)[0]
    base = digests.index(usual)
    others = [n for n, digest in enumerate(digests) if digest != usual]
    apart = ", ".join(str(runs[n].rank) for n in others)
    sides = (f"on rank {runs[base].rank}", f"on rank {runs[others[0]].rank}")
    which = f"rank {apart} has" if count > 1 else f"rank {apart} and rank {runs[base].rank} have"
    a, b = row[base], row[others[0]]
    where = "left by" if first.when == AFTER else "given to"
    file = f" ({b.kernel['file']}:{b.kernel['line']})" if b.kernel["file"] else ""
    text = (
        f"{which} other bytes in {b.args[first.arg]['name']} {where} launch {first.equal + 1} of "
        f"{b.kernel['name']}{file}, equal at the {first.equal} before"
    )
    if first.when == AFTER:
        return f"{text}; its inputs were equal: other code, atomics, or memory that nobody wrote"
    equal = [
        (rows[base], rows[others[0]], order)
        for of_arg in series
        for order, rows in enumerate(of_arg.rows[: of_arg.equal], 1)
    ]
    pair = (trace, trace), (runs[base], runs[others[0]])
    return f"{text}: {upstream(*pair, equal, (a, b, first.equal + 1), sides)}"
