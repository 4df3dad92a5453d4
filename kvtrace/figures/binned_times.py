"""Medians of calls and kernels from times in bins: of stored sums, and of the rows these lack."""

from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.bins import BINS, medians_of_bins, medians_of_counts
from kvtrace.figures.columns import Integers, Positions, combined_codes, integers, split_by_run
from kvtrace.figures.sums_reading import AllSums, Sums, stored_bins
from kvtrace.schema.columns import without_dictionary

if TYPE_CHECKING:
    from kvtrace.schema.trace import Trace

_PLACES: Final = "SELECT run::VARCHAR AS run, call_id, kernel, place FROM place ORDER BY place"
_GROUPS: Final = """
    SELECT p.place, g.grouped FROM place p
    JOIN groups g ON g.run = p.run AND g.kernel_id = p.kernel_id
"""


class BinnedTimes:
    """The steady times of calls, each known by its place in the table `place` of a database.

    Times are read run by run, since those of all runs would take much memory.
    """

    def __init__(
        self,
        database: duckdb.DuckDBPyConnection,
        trace: "Trace",
        sums: AllSums,
        table: Sums,
        *,
        has_groups: bool = False,
    ) -> None:
        """Read the stored times of a table, and add those of `sums` that are not stored.

        With `has_groups`, the database has the table `groups`, of which `by_group` has medians.
        """
        self._database = database
        places = database.sql(_PLACES).to_arrow_table()
        #: The kernel of each place; places are counted from 1.
        kernel_of = np.append(0, integers(places["kernel"]))
        group_of = self._groups(kernel_of.size) if has_groups else np.zeros(0, np.int64)
        positions = {
            run_id: (Positions(integers(rows["call_id"])), integers(rows["place"]))
            for run_id, rows in split_by_run(places)
        }
        of_kernels, of_groups = (
            np.zeros((int(codes.max(initial=-1)) + 1) * BINS, np.int64)
            for codes in (kernel_of, group_of)
        )
        self._of_calls = np.full(kernel_of.size, np.nan)
        columns = ["call_id", "bins", "counts"]
        columns += ["name", "kind"] if table == "execution_sums" else []
        others: dict[str, list[pa.Table]] = {}
        for rows in sums.binned:
            for run_id, of_run in split_by_run(rows.select([*columns, "run"])):
                others.setdefault(run_id, []).append(of_run.select(columns))
        stored = {run.run_id: run for run in sums.stored}
        unplaced = []
        for run_id in dict.fromkeys((*stored, *others)):
            pieces = list(others.get(run_id, ()))
            if run_id in stored:
                pieces.append(stored_bins(trace, stored[run_id], table).select(columns))
            times = [_placed(piece, positions.get(run_id)) for piece in pieces]
            unplaced += [
                piece.filter(pa.array(time.rows_place == 0))
                for piece, time in zip(pieces, times, strict=True)
            ]
            place, bins, counts = map(np.concatenate, zip(*(t[1:] for t in times), strict=True))
            if not place.size:
                continue
            np.add.at(of_kernels, kernel_of[place] * BINS + bins, counts)
            if has_groups:
                np.add.at(of_groups, group_of[place] * BINS + bins, counts)
            first, size = int(place.min()), int(place.max() - place.min()) + 1
            self._of_calls[first : first + size] = medians_of_bins(
                place - first, bins, counts, size
            )
        self._of_kernels = medians_of_counts(of_kernels, of_kernels.size // BINS)
        self._of_groups = medians_of_counts(of_groups, of_groups.size // BINS)
        #: Rows with times of no call, or of calls whose kernel is not known.
        self.unplaced = pa.concat_tables(_plain(rows) for rows in unplaced)

    @property
    def medians(self) -> dict[str, str]:
        """Queries of medians `ns` by `place`, `kernel`, and `grouped` of the table `groups`."""
        of_groups = self._registered("code", self._of_groups)
        return {
            "place": self._registered("place", self._of_calls),
            "kernel": self._registered("kernel", self._of_kernels),
            "grouped": f"SELECT grouped, ns FROM ({of_groups}) m JOIN group_codes USING (code)",  # noqa: S608
        }

    def _groups(self, places: int) -> Integers:
        """Return the code of the group of each place, and create the table `group_codes`."""
        rows = self._database.sql(_GROUPS).to_arrow_table()
        codes = rows["grouped"].combine_chunks().dictionary_encode()
        group_of_place = np.zeros(places, np.int64)
        group_of_place[integers(rows["place"])] = np.asarray(codes.indices) + 1
        names = codes.dictionary
        numbered = pa.table({"code": np.arange(1, len(names) + 1), "grouped": names})
        self._database.register("group_codes", numbered)
        return group_of_place

    def _registered(self, name: str, medians: npt.NDArray[np.float64]) -> str:
        """Return a query of medians by code, as columns `name` and ns; code 0 stands for none."""
        known = np.flatnonzero(~np.isnan(medians))
        known = known[known > 0]
        self._database.register(f"{name}_medians", pa.table({name: known, "ns": medians[known]}))
        return f"SELECT {name}, ns FROM {name}_medians"  # noqa: S608


class _Placed(NamedTuple):
    """The place of each row, or 0; and place, bin and number of the times of rows with one."""

    rows_place: Integers
    place: Integers
    bins: Integers
    counts: Integers


def _placed(rows: pa.Table, positions: tuple[Positions, Integers] | None) -> _Placed:
    """Return the times of rows with `call_id`, `bins` and `counts`; None: no place is known."""
    rows_place = np.zeros(rows.num_rows, np.int64)
    if positions is not None:
        index, places = positions
        position = index.of(integers(rows["call_id"], -1))
        rows_place = np.where(position < 0, 0, places[position])
    place = np.repeat(rows_place, integers(pc.list_value_length(rows["bins"])))
    is_placed = place > 0
    bins, counts = _flat(rows["bins"]), _flat(rows["counts"])
    return _Placed(rows_place, place[is_placed], bins[is_placed], counts[is_placed])


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without dictionaries, and numbers of equal types."""
    columns = [without_dictionary(column) for column in rows.columns]
    return pa.table(columns, rows.column_names)


def binned_medians_by_name(database: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return a query of medians by name and kind, with columns name, kind and ns.

    `query` has rows with name and kind, and bins and counts.
    """
    rows = database.sql(query).to_arrow_table()
    codes, examples = combined_codes([rows["name"], rows["kind"]])
    lengths = integers(pc.list_value_length(rows["bins"]))
    medians = medians_of_bins(
        np.repeat(codes, lengths), _flat(rows["bins"]), _flat(rows["counts"]), examples.size
    )
    named = rows.select(["name", "kind"]).take(pa.array(examples))
    database.register("name_medians", named.append_column("ns", pa.array(medians)))
    return "SELECT name, kind, ns FROM name_medians"


def _flat(lists: pa.ChunkedArray) -> Integers:
    return integers(pc.list_flatten(lists))
