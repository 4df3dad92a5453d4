"""Medians of calls and kernels from times in bins: of stored sums, and of the rows these lack."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.bins import BINS, bin_of, medians_of_bins, medians_of_counts
from kvtrace.figures.columns import Integers, Positions, combined_codes, integers, split_by_run
from kvtrace.figures.sums_reading import AtRest, Sums, stored_sums
from kvtrace.figures.tables import open_times

if TYPE_CHECKING:
    from kvtrace.schema.trace import Trace

_LEAVES: Final = f"""
    SELECT run::VARCHAR AS run, call_id, ({bin_of("ns")})::BIGINT AS bin,
        sum(weight)::BIGINT AS number
    FROM {{view}} WHERE steady AND call_id IS NOT NULL GROUP BY ALL ORDER BY run
"""  # noqa: S608
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
        rest: AtRest,
        table: Sums,
        view: str,
    ) -> None:
        """Take the stored times of a table, and of the view those of rows that are not stored."""
        self._database = database
        self._trace = trace
        self._rest = rest
        self._table: Sums = table
        places = database.sql(_PLACES).to_arrow_table()
        #: The kernel of each place; places are counted from 1.
        self._kernels = np.append(0, integers(places["kernel"]))
        self._positions = {
            run_id: (Positions(integers(rows["call_id"])), integers(rows["place"]))
            for run_id, rows in split_by_run(places)
        }
        self._leaves: dict[str, list[pa.Table]] = {}
        for leaves, runs in rest.leaves:
            with open_times(leaves, runs, view) as rows_of:
                rows = rows_of.sql(_LEAVES.format(view=view)).to_arrow_table()
            for run_id, of_run in split_by_run(rows):
                self._leaves.setdefault(run_id, []).append(of_run)

        kernels = int(self._kernels.max()) + 1
        self._of_calls = np.full(self._kernels.size, np.nan)
        sums = np.zeros(kernels * BINS, np.int64)
        for place, bins, counts in self._times():
            np.add.at(sums, self._kernels[place] * BINS + bins, counts)
            if not place.size:
                continue
            first, size = int(place.min()), int(place.max() - place.min()) + 1
            self._of_calls[first : first + size] = medians_of_bins(
                place - first, bins, counts, size
            )
        self._of_kernels = medians_of_counts(sums, kernels)

    def by_call(self) -> str:
        """Return a query of the medians of calls, with columns place and ns."""
        return self._registered("place", self._of_calls)

    def by_kernel(self) -> str:
        """Return a query of the medians of kernels, with columns kernel and ns."""
        return self._registered("kernel", self._of_kernels)

    def by_group(self) -> str:
        """Return a query of the medians of the groups of kernels in the table `groups`."""
        rows = self._database.sql(_GROUPS).to_arrow_table()
        codes = rows["grouped"].combine_chunks().dictionary_encode()
        group_of_place = np.zeros(self._kernels.size, np.int64)
        group_of_place[integers(rows["place"])] = np.asarray(codes.indices) + 1
        size = len(codes.dictionary) + 1
        sums = np.zeros(size * BINS, np.int64)
        for place, bins, counts in self._times():
            np.add.at(sums, group_of_place[place] * BINS + bins, counts)
        query = self._registered("code", medians_of_counts(sums, size))
        self._database.register(
            "group_codes", pa.table({"code": np.arange(1, size), "grouped": codes.dictionary})
        )
        return f"SELECT grouped, ns FROM ({query}) m JOIN group_codes USING (code)"  # noqa: S608

    def _times(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield place, bin and number of the times of each run with calls of known kernels."""
        stored = {run.run_id: run for run in self._rest.stored}
        for run_id, (positions, places) in self._positions.items():
            calls, bins, counts = [], [], []
            if run_id in stored:
                columns = ("call_id", "bins", "counts")
                rows = stored_sums(self._trace, [stored[run_id]], self._table, columns)
                rows = rows.filter(pc.is_valid(rows["bins"]))
                lengths = integers(pc.list_value_length(rows["bins"]))
                calls.append(np.repeat(integers(rows["call_id"], -1), lengths))
                bins.append(_flat(rows["bins"]))
                counts.append(_flat(rows["counts"]))
            for rows in self._leaves.get(run_id, ()):
                calls.append(integers(rows["call_id"]))
                bins.append(integers(rows["bin"]))
                counts.append(integers(rows["number"]))
            if calls:
                position = positions.of(np.concatenate(calls))
                is_known = position >= 0
                yield (
                    places[position[is_known]],
                    np.concatenate(bins)[is_known],
                    np.concatenate(counts)[is_known],
                )

    def _registered(self, name: str, medians: npt.NDArray[np.float64]) -> str:
        """Return a query of medians by code, as columns `name` and ns; code 0 stands for none."""
        known = np.flatnonzero(~np.isnan(medians))
        known = known[known > 0]
        self._database.register(f"{name}_medians", pa.table({name: known, "ns": medians[known]}))
        return f"SELECT {name}, ns FROM {name}_medians"  # noqa: S608


def binned_medians_by_name(database: duckdb.DuckDBPyConnection, query: str) -> str:
    """Return a query of medians by name and kind, with columns name, kind and ns.

    `query` has rows with name and kind, and bins and counts, or a bin and weight without bins.
    """
    rows = database.sql(query).to_arrow_table()
    codes, examples = combined_codes([rows["name"], rows["kind"]])
    lengths = integers(pc.list_value_length(rows["bins"]))
    has_none = lengths == 0
    medians = medians_of_bins(
        np.append(np.repeat(codes, lengths), codes[has_none]),
        np.append(_flat(rows["bins"]), integers(rows["bin"])[has_none]),
        np.append(_flat(rows["counts"]), integers(rows["weight"])[has_none]),
        examples.size,
    )
    named = rows.select(["name", "kind"]).take(pa.array(examples))
    database.register("name_medians", named.append_column("ns", pa.array(medians)))
    return "SELECT name, kind, ns FROM name_medians"


def _flat(lists: pa.ChunkedArray) -> Integers:
    return integers(pc.list_flatten(lists))
