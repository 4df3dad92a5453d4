"""Requests of a program's host, in order: launches, kernels of libraries, graph replays, copies."""

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, combined_codes, integers
from kvtrace.figures.identity import BY_NAME, kind_of
from kvtrace.figures.step_search import MOST_REQUESTS, Requests
from kvtrace.schema.features import TRIALS
from kvtrace.schema.trace import Run, Trace

#: Phases of launches in start-up.
SETUP: Final = (*sorted(TRIALS), "graph_capture")
#: Kernels of optimizers: those of torch.optim on many tensors, fused ones, and of other packages.
#: The names are of ATen/native/cuda/{Foreach*,fused_*_impl}.cu of PyTorch 2.11, and of apex.
_OF_OPTIMIZERS: Final = re.compile(
    r"multi_tensor_apply|fused_(?:adam|adamw|sgd|adagrad)|_foreach_|adamw?_|lamb_|adafactor|muon",
    re.IGNORECASE,
)
#: The groups of kinds that are launches, and trials of an autotuner.
_LAUNCH: Final = "launch"
_TRIAL: Final = "trial"
_PRODUCT: Final = "product"
#: Makers that choose a kernel by the sizes of what it multiplies.
_CHOOSING: Final = frozenset(
    {"cuBLAS", "cuDNN", "CUTLASS", "Tensile", "rocBLAS", "MIOpen", "CK", BY_NAME}
)
#: Kinds of executions that do not count for a step's content.
_UNCOUNTED: Final = frozenset({"copy", "fill"})
_COLUMNS: Final = ["requested", "launch_seq", "graph_id", "name", "kind", "request_thread"]


def requests_of_run(trace: Trace, run: Run) -> Requests:
    """Return the last requests of a run, without trials and graph captures, sorted by time.

    Launches are of one kind if their kernels have one name: sizes may change from step to step, as
    in decoding. So are all kernels of libraries that choose one by size, as cuBLAS does by the
    number of sequences. A replay of a graph is one request. Errors as `Trace.table`.
    """
    kinds: dict[tuple[str, Any], int] = {(_TRIAL, None): 0}
    last = np.zeros((4, 0), np.int64)  # rows of time, kind, thread, work; a request a column
    for block in (*_launches(trace, run, kinds), *_others(trace, run, kinds)):
        rows = np.concatenate([last, block], axis=1)
        last = rows[:, np.argsort(rows[0], kind="stable")[-MOST_REQUESTS:]]
    is_launch = np.array([group in (_LAUNCH, _TRIAL) for group, _ in kinds], bool)
    time, kind, thread, work = last[:, ~_of_trials(last[1], is_launch)]
    counted = [group not in _UNCOUNTED for group, _ in kinds]
    optimizing = [_OF_OPTIMIZERS.search(str(name)) is not None for _, name in kinds]
    return Requests(time, kind, thread, work, np.array(counted, bool), np.array(optimizing, bool))


def _of_trials(kind: Integers, is_launch: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which requests are of an autotuner: trials, and what was asked for between two.

    That flushes the cache before each trial: thousands of fills, which look like steps.
    """
    launches = np.flatnonzero(is_launch[kind])
    is_trial = np.append(kind[launches] == 0, False)
    before = np.searchsorted(launches, np.arange(kind.size), "right") - 1
    is_between = (before >= 0) & is_trial[before] & is_trial[before + 1]
    return np.asarray(is_between | (kind == 0))


def _launches(trace: Trace, run: Run, kinds: dict[tuple[str, Any], int]) -> Iterator[Integers]:
    """Yield begin, kind, thread and work of launches; `kinds` gets the number of each kind."""
    kernels = {row["kernel_id"]: row["name"] for row in _rows(trace, run, "kernels", "name")}
    calls = _rows(trace, run, "calls", "call_id")
    names = {row["call_id"]: kernels.get(row["kernel_id"]) for row in calls}
    for piece in trace.pieces("launches", [run], ["enter", "call_id", "thread", "phase"]):
        ignored = pc.equal(piece["phase"].cast(pa.string()), "graph_capture")
        kept = pc.and_(pc.invert(pc.fill_null(ignored, False)), pc.is_valid(piece["enter"]))
        rows = piece.filter(kept)
        is_trial = pc.is_in(rows["phase"].cast(pa.string()), pa.array(sorted(TRIALS)))
        ids, call = np.unique(integers(rows["call_id"], -1), return_inverse=True)
        groups = [(_LAUNCH, names.get(i) or i) for i in ids.tolist()]
        kind = np.where(is_trial.to_numpy(), 0, _numbers(kinds, groups)[call])
        thread = integers(rows["thread"], -1)
        yield np.stack([integers(rows["enter"]), kind, thread, np.ones_like(thread)])


def _others(trace: Trace, run: Run, kinds: dict[tuple[str, Any], int]) -> Iterator[Integers]:
    """Yield what `_launches` does, for executions that were not requested by a launch each."""
    for piece in trace.pieces("gpu_kernels", [run], _COLUMNS):
        foreign = pc.or_(pc.is_null(piece["launch_seq"]), pc.is_valid(piece["graph_id"]))
        rows = piece.filter(pc.and_(foreign, pc.is_valid(piece["requested"])))
        what = rows.select(["graph_id", "kind", "name"])
        code, examples = combined_codes(what.columns)
        groups = [
            _group(row) if row["graph_id"] is None else ("graph", row["graph_id"])
            for row in what.take(pa.array(examples)).to_pylist()
        ]
        thread = integers(rows["request_thread"], -1)
        block = np.stack([integers(rows["requested"]), _numbers(kinds, groups)[code], thread])
        in_graph = rows["graph_id"].is_valid().to_numpy()
        single = block[:, ~in_graph]
        # All nodes of a replay have its time and thread.
        replays, nodes = np.unique(block[:, in_graph], axis=1, return_counts=True)
        work = np.append(np.ones(single.shape[1], np.int64), nodes)
        yield np.vstack([np.append(single, replays, axis=1), work])


def _group(row: dict[str, Any]) -> tuple[str, Any]:
    """Return the kind of an execution that is of no launch and no graph."""
    of_memory, name = row["kind"], row["name"]
    return (_PRODUCT, None) if kind_of(name or "", of_memory) in _CHOOSING else (of_memory, name)


def _rows(trace: Trace, run: Run, table: str, column: str) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries of `kernel_id` and another column."""
    rows: list[dict[str, Any]] = trace.table(table, [run], ["kernel_id", column]).to_pylist()
    return rows


def _numbers(kinds: dict[tuple[str, Any], int], groups: list[tuple[str, Any]]) -> Integers:
    """Return the number of each kind; new ones are added to `kinds`."""
    return np.array([kinds.setdefault(group, len(kinds)) for group in groups], np.int64)
