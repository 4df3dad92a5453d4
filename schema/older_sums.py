"""Sums of launches and executions whose rows a recording drops: `KVTRACE_LIMIT=sums:2GB`.

Before a part of `launches` or `gpu_kernels` is deleted, what its rows add up to is written as rows
of `older_launch_sums` or `older_execution_sums`; the rows are what `figures/sums_building.py` would
make of the part. A process that is killed between the two leaves both (`older_parts.py`). Of every
eight files one is made, and of those again, so that there are few however long the run is.

Two flags are found without the rows that are not there any more, or not yet: a launch that holds
trials is known by the trials before it, and an execution of no known call, such as a kernel that
empties caches between two trials, at a part's end by the execution before it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.arrays import array_of
from kvtrace.schema.columns import batch_of_columns
from kvtrace.schema.launch_flags import LaunchFlags, are_trials, extreme
from kvtrace.schema.layout import part_path
from kvtrace.schema.older_parts import OLDER_SUMS
from kvtrace.schema.parts import read_part, write_part
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts

_NEVER: Final = -1 << 63
#: Files of one table that become one file.
_FILES: Final = 8


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rule by which the rows of a table are added up.

    Attributes:
        begin: the column with a row's begin.
        sums: the table of the sums.
        keys: its columns in which rows have to be equal to be added up.
        columns: the columns of the rows that sums are made of.

    """

    begin: str
    sums: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]


_KINDS: Final = {
    "launches": _Kind(
        "enter",
        OLDER_SUMS["launches"],
        ("call_id", "phase", "compiling", "steady"),
        ("call_id", "enter", "exit", "thread", "phase", "weight"),
    ),
    "gpu_kernels": _Kind(
        "start",
        OLDER_SUMS["gpu_kernels"],
        (
            *("call_id", "name", "kind", "stack_id", "forward_stack_id"),
            *("tuning", "replayed", "timed"),
        ),
        (
            *("launch_seq", "call_id", "start", "end", "graph_id", "name", "kind"),
            *("bytes", "weight", "requested", "stack_id", "forward_stack_id"),
        ),
    ),
}

#: Constants as Arrow's scalars, made without `pa.scalar` (see `arrays.py`).
_ZERO, _ONE, _SIX, _64 = array_of([0, 1, 6, 64], pa.int64())


class OlderSums:
    """The sums of a run's rows that are dropped: called from one thread, in the run's order.

    `refer` gets the rows of `kernels` and `calls`, `note` the parts of `launches` when they are
    sealed, and `add` each part before it is dropped.
    """

    def __init__(self, out: Path, run_id: str) -> None:
        """Have no sums yet, of a run whose trace is in the folder `out`."""
        self._out = out
        self._run_id = run_id
        self._flags = LaunchFlags()
        #: Trials of all sealed parts, as arrays of `seq`; and the last one of each part.
        self._trials: list[pa.ChunkedArray] = []
        self._last_trials: dict[Path, int] = {}
        #: The mark of the last execution of a known call of the rows that were added (`_tuning`).
        self._last_mark = _ZERO
        self._files: dict[str, list[Path]] = {table: [] for table in _KINDS}
        self._numbers = dict.fromkeys(_KINDS, 0)

    @property
    def size_bytes(self) -> int:
        """Bytes of the sums on disk."""
        return sum(path.stat().st_size for paths in self._files.values() for path in paths)

    @property
    def ends_in_trials(self) -> bool:
        """The last part ends in a trial, which a later launch may hold."""
        return self._flags.ends_in_trials

    def refer(self, table: str, row: Mapping[str, Any]) -> None:
        """Note a row of `kernels` or `calls`, before launches of it; ignore other tables."""
        self._flags.refer(table, row)

    def note(self, part: Path) -> None:
        """Note the trials of a sealed part of `launches`; errors as `read_part`."""
        rows = read_part(part, TABLES["launches"], ["seq", "phase"])
        trials = rows["seq"].filter(are_trials(rows))
        if len(trials):
            self._trials.append(trials)
            self._last_trials[part] = extreme(trials, "max")

    def last_trial(self, part: Path) -> int | None:
        """Return `seq` of the last trial in a sealed part of `launches` that was noted, if any."""
        return self._last_trials.get(part)

    def first_launch(self, part: Path) -> int:
        """Return the least `launch_seq` in a part of `gpu_kernels`; errors as `read_part`."""
        rows = read_part(part, TABLES["gpu_kernels"], ["launch_seq"])
        return int(extreme(rows["launch_seq"], "min", -_NEVER - 1))

    def add(self, table: str, part: Path) -> None:
        """Write what a part adds up to, which is to be deleted.

        Raises:
            OSError: as on a full disk; nothing was written.
            DamagedFile: the part cannot be read.

        """
        if len(self._files[table]) == _FILES:
            self._unite(table)  # before, so that what is united is of parts that are deleted
        kind = _KINDS[table]
        rows = read_part(part, TABLES[table], kind.columns)
        if not rows.num_rows:
            return
        pieces = self._of_launches(rows) if table == "launches" else self._of_executions(rows)
        number = int(part.stem.rpartition("-")[2])
        of_rows = {
            "first_part": number,
            "last_part": number,
            "begin": extreme(rows[kind.begin].cast(pa.int64()), "min"),
            "end": extreme(rows[kind.begin].cast(pa.int64()), "max"),
        }
        self._write(table, _summed(pieces, kind.keys), of_rows)

    def _of_launches(self, rows: pa.Table) -> pa.Table:
        """Return launches as pieces of sums, as the view `launch_times` has them."""
        enter, leave = (rows[name].cast(pa.int64()) for name in ("enter", "exit"))
        flags = self._flags.of(rows)
        return pa.table(
            {
                "call_id": rows["call_id"],
                "phase": rows["phase"].cast(pa.string()),
                "compiling": flags["compiling"],
                "steady": flags["steady"],
                **_times(enter, leave, rows["weight"], flags["steady"]),
            }
        )

    def _of_executions(self, rows: pa.Table) -> pa.Table:
        """Return executions as pieces of sums, as the view `execution_times` has them."""
        start, end = (rows[name].cast(pa.int64()) for name in ("start", "end"))
        nothing = {kind: array_of([None], kind)[0] for kind in (pa.int64(), pa.string())}
        # A copy or fill that a launch asked for is none of its kernel's executions.
        calls = pc.if_else(pc.is_null(rows["kind"]), rows["call_id"], nothing[pa.int64()])
        is_called = pc.is_valid(calls)
        tuning = self._tuning(rows, start, is_called)
        unnamed = {
            name: pc.if_else(is_called, nothing[kind], rows[name].cast(kind))
            for name, kind in (
                ("name", pa.string()),
                ("kind", pa.string()),
                ("stack_id", pa.int64()),
            )
        }
        timed = pc.and_(pc.is_valid(start), pc.is_valid(end))
        times = _times(start, end, rows["weight"], pc.and_not(timed, tuning))
        return pa.table(
            {
                "call_id": calls,
                **unnamed,
                "forward_stack_id": rows["forward_stack_id"],
                "tuning": tuning,
                "replayed": pc.is_valid(rows["graph_id"]),
                "timed": timed,
                "asked": pc.is_valid(rows["requested"]),
                "bytes": pc.multiply(rows["bytes"], times["weight"]),
                **times,
            }
        )

    def _tuning(self, rows: pa.Table, start: Any, is_called: Any) -> Any:
        """Return which executions are of trials, or ran between two of them."""
        trials = pa.chunked_array(
            [chunk for seqs in self._trials for chunk in seqs.chunks], pa.int64()
        )
        of_trial = pc.and_(pc.is_in(rows["launch_seq"], trials), pc.is_valid(rows["launch_seq"]))
        if not len(trials):
            return of_trial
        order = pc.sort_indices(start)
        # As the view `between_trials` of figures/views.py: twice the begin, and one more for a
        # trial, so that of executions that begin at once a trial is the later one.
        begin = start.cast(pa.int64())
        mark = pc.add(pc.add(begin, begin), of_trial.cast(pa.int64()))
        unknown = array_of([None], pa.int64())[0]
        marks = pc.if_else(is_called, mark, unknown).combine_chunks().take(order)
        marked = pa.concat_arrays([array_of([self._last_mark.as_py()], pa.int64()), marks])
        before = pc.fill_null_forward(pc.cumulative_max(marked, skip_nulls=True)).slice(1)
        following = pc.cumulative_min(marks[::-1], skip_nulls=True)
        behind = pc.coalesce(pc.fill_null_forward(following)[::-1], before)
        self._last_mark = before[-1]
        before, behind = (pc.equal(pc.bit_wise_and(side, _ONE), _ONE) for side in (before, behind))
        between = pc.and_(pc.and_(before, behind), pc.is_null(marks))
        found = pa.chunked_array([order.filter(between)])
        number = pa.arange(0, rows.num_rows).cast(found.type)
        return pc.or_(of_trial, pc.is_in(number, found))

    def _write(self, table: str, sums: pa.Table, of_rows: Mapping[str, int]) -> None:
        kind = TABLES[_KINDS[table].sums]
        count = sums.num_rows
        columns = {name: sums[name].combine_chunks() for name in sums.column_names}
        columns |= {name: array_of([value] * count, pa.int64()) for name, value in of_rows.items()}
        batch = batch_of_columns(kind, columns)
        path = part_path(self._out, kind.name, self._run_id, self._numbers[table])
        write_part(path, kind, captured_facts(kind.name, self._run_id), [batch])
        self._numbers[table] += 1
        self._files[table].append(path)

    def _unite(self, table: str) -> None:
        """Write the sums of all files of a table as one file, and then delete them."""
        kind, paths = _KINDS[table], self._files[table]
        definition = TABLES[kind.sums]
        rows = pa.concat_tables(
            [read_part(path, definition, definition.names) for path in paths]
        ).unify_dictionaries()
        of_rows = {
            name: extreme(rows[name].cast(pa.int64()), which)
            for name, which in (
                *(("first_part", "min"), ("last_part", "max")),
                *(("begin", "min"), ("end", "max")),
            )
        }
        sums = _summed(_pieces_of_sums(rows, kind.keys), kind.keys)
        self._files[table] = []
        self._write(table, sums, of_rows)
        for path in paths:
            path.unlink(missing_ok=True)


def _times(begin: Any, end: Any, weights: Any, steady: Any) -> dict[str, Any]:
    """Return the columns of pieces of sums that follow from begin and end of rows, in ns.

    A row of which the clock was set back took 0 ns.
    """
    ns = pc.max_element_wise(pc.subtract(end, begin), _ZERO, skip_nulls=False)
    weight = pc.max_element_wise(pc.coalesce(weights.cast(pa.int64()), _ONE), _ONE)
    # As `BIN` of figures/sums_reading.py, where this has a branch for times below 128 ns.
    power = pc.floor(pc.log2(pc.max_element_wise(ns, _ONE).cast(pa.float64()))).cast(pa.int64())
    exponent = pc.max_element_wise(pc.subtract(power, _SIX), _ZERO)
    bins = pc.add(pc.multiply(exponent, _64), pc.shift_right(ns, exponent))
    return {
        "weight": weight,
        "taken_ns": pc.multiply(ns, weight),
        "shortest_ns": ns,
        "longest_ns": ns,
        "last_end": end,
        "bin": pc.if_else(steady, bins, array_of([None], pa.int64())[0]),
        "number": weight,
    }


#: How columns of pieces are put together.
_AGGREGATES: Final = {
    "weight": "sum",
    "taken_ns": "sum",
    "shortest_ns": "min",
    "longest_ns": "max",
    "last_end": "max",
    "bytes": "sum",
    "asked": "max",
}


def _summed(pieces: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return sums of pieces by `keys`, sorted by call.

    A piece has columns of `_AGGREGATES` (null: nothing), and `bin` and `number`: how many of the
    times are in that bin; null where there are none.
    """
    together = {name: how for name, how in _AGGREGATES.items() if name in pieces.column_names}
    by_bin = _grouped(pieces, [*keys, "bin"], {**together, "number": "sum"}).sort_by("bin")
    by_bin = by_bin.append_column("binned", by_bin["bin"])
    sums = _grouped(
        by_bin, keys, {**together, "bin": "list", "number": "list", "binned": "count"}
    ).sort_by("call_id")
    # Lists end with the number of times that are in no bin.
    is_binned = pc.is_valid(pc.list_flatten(sums["bin"]))
    lengths = sums["binned"].combine_chunks()
    offsets = pa.concat_arrays([array_of([0], pa.int64()), pc.cumulative_sum(lengths)])
    lists = {
        new: pa.ListArray.from_arrays(
            offsets.cast(pa.int32()),
            pc.list_flatten(sums[old]).filter(is_binned).combine_chunks().cast(kind),
            mask=pc.equal(lengths, _ZERO),
        )
        for new, old, kind in (("bins", "bin", pa.int32()), ("counts", "number", pa.int64()))
    }
    columns = {name: sums[name] for name in (*keys, *together)}
    return pa.table(columns | lists)


def _grouped(rows: pa.Table, keys: Sequence[str], aggregates: Mapping[str, str]) -> pa.Table:
    """Return rows grouped in one thread, and columns under their names."""
    grouped = rows.group_by(list(keys), use_threads=False).aggregate(list(aggregates.items()))
    names = {f"{name}_{how}": name for name, how in aggregates.items()}
    return grouped.rename_columns([names.get(name, name) for name in grouped.column_names])


def _pieces_of_sums(rows: pa.Table, keys: Iterable[str]) -> pa.Table:
    """Return rows of sums as pieces: one of each row, and one of each of its bins."""
    rows = rows.combine_chunks()
    texts = [
        (rows[key].cast(pa.string()) if pa.types.is_dictionary(rows[key].type) else rows[key])
        for key in keys
    ]
    names = list(keys)
    together = [name for name in _AGGREGATES if name in rows.column_names]
    values = [
        rows[name].cast(pa.int64()) if name == "last_end" else rows[name] for name in together
    ]
    whole = pa.table([*texts, *values], [*names, *together])
    parents = pc.list_parent_indices(rows["bins"])
    binned = (
        pa.table(texts, names)
        .take(parents)
        .append_column("bin", pc.list_flatten(rows["bins"]).cast(pa.int64()))
        .append_column("number", pc.list_flatten(rows["counts"]))
    )
    return pa.concat_tables([whole, binned], promote_options="default")
