"""Required features of a run: what a reader has to know in order not to miscount its rows.

A run names them in `runs.required_features`, and a reader refuses a run with a feature that it does
not know. A feature belongs here if a count or a sum over rows of the core profile is wrong without
it, in some runs only: what holds in every run is in the meaning of a column. What a reader merely
cannot show, such as the IR of a language that is new to it, is no feature.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from kvtrace.schema.arrays import memory_of
from kvtrace.schema.layout import SUMS, TIMES

#: `ending` of a run whose recording ended at its limit.
LIMIT: Final = "limit"
#: Prefixes of an amount in the setting `limit` of which the newest rows are kept; with `SUMS_OF`,
#: what the others add up to is kept, too.
RING: Final = "ring:"
SUMS_OF: Final = "sums:"

#: Every feature, with what its rows mean and what a reader has to do.
FEATURES: Final = {
    "weights": "rows of launches or gpu_kernels stand for `weight` launches or executions each; "
    "count weights, not rows, and multiply times by them",
    "trials": "some launches are of the phases autotune or warmup: an autotuner's trials, not the "
    "program's work; count them separately",
    "graph-replays": "launches of the phase graph_capture are requests that executed nothing; what "
    "each replay of the graph executed are rows of gpu_kernels with a graph_id; count both, apart",
    "partial": "launches of the program are missing, by a window, a limit or lost rows, or "
    "executions other than collectives are, by the setting ranks; say that "
    "counts and sums are of a part, and expect a launch_seq without a launch",
    "total-times": "start and end of gpu_kernels give durations that add up, but no points in "
    "time; draw no timeline of them, and derive no gaps or overlap",
}

#: Columns whose rows imply features, by table.
FEATURE_COLUMNS: Final = {
    "launches": ("weight", "graph_id", "phase"),
    "gpu_kernels": ("weight", "graph_id"),
}
TRIALS: Final = frozenset({"autotune", "warmup"})
_GRAPH: Final = "graph_capture"


def keeps_newest_rows(settings: Mapping[str, str | None]) -> bool:
    """Return whether a recording with these settings drops its oldest rows."""
    limit = (settings.get("limit") or "").lower()
    return RING in limit or SUMS_OF in limit


def keeps_sums_of_dropped(settings: Mapping[str, str | None]) -> bool:
    """Return whether a recording with these settings keeps sums of the rows that it drops."""
    return SUMS_OF in (settings.get("limit") or "").lower()


def keeps_collectives_alone(settings: Mapping[str, str | None], rank: int | None) -> bool:
    """Return whether a recording with these settings keeps collectives alone of a rank's device."""
    ranks = settings.get("ranks") or ""
    return bool(ranks.strip()) and rank is not None and rank not in map(int, ranks.split(","))


def features_of_run(row: Mapping[str, Any]) -> set[str]:
    """Return the features that a row of `runs`, as it is written, implies or already names."""
    settings = dict(row.get("settings") or ())
    features = set(row.get("required_features") or ())
    if settings.get("sample"):
        features.add("weights")
    if settings.get(TIMES) == SUMS:
        features.add("total-times")
    is_partial = (
        settings.get("window")
        or keeps_newest_rows(settings)
        or keeps_collectives_alone(settings, row.get("rank"))
        or row.get("ending") == LIMIT
        or row.get("dropped_rows")
    )
    return features | ({"partial"} if is_partial else set())


def features_of_rows(table: str, rows: pa.RecordBatch) -> set[str]:
    """Return the features that rows of a table imply; of most tables none.

    It is called for each batch that a recording writes, and imports nothing.
    """
    names = FEATURE_COLUMNS.get(table, ())
    features = set()
    if "weight" in names and _has_values(rows, "weight"):
        features.add("weights")
    if "graph_id" in names and _has_values(rows, "graph_id"):
        features.add("graph-replays")
    if "phase" in names and "phase" in rows.schema.names:
        phases = _words(rows.column("phase"))
        if phases & TRIALS:
            features.add("trials")
        if _GRAPH in phases:
            features.add("graph-replays")
    return features


def unknown_features_text(run_id: str, names: Iterable[str]) -> str | None:
    """Return the sentence that refuses a run with features that are not known; None without any."""
    unknown = [name for name in names if name not in FEATURES]
    if not unknown:
        return None
    return (
        f"run {run_id} requires {' and '.join(map(repr, unknown))}, which this kvtrace does not "
        "know, so that it would miscount; read it with a newer kvtrace"
    )


def _has_values(rows: pa.RecordBatch, name: str) -> bool:
    return name in rows.schema.names and rows.column(name).null_count < rows.num_rows


def _words(column: pa.DictionaryArray) -> set[str]:
    """Return the words that occur in a column of few words, without `pyarrow.compute`."""
    words = column.dictionary.to_pylist()
    if len(words) > 256:  # no word of ours: read each row
        return set(column.to_pylist())
    lowest_bytes = bytes(memory_of(column.indices))[:: column.indices.type.bit_width // 8]
    return {word for number, word in enumerate(words) if number in lowest_bytes}
