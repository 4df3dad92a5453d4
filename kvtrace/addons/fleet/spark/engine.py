"""The engine `spark`, for commands with the option --engine: tasks of up to 32 unique calls.

The calls of a task are of one kernel, and share facts derived from its IR. A task opens the trace
and returns the rows that clients made; this process joins and writes the rows, as `replay` does.
Only clients whose rows on a call depend on that call alone (`by_call`) can run on Spark.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from kvtrace.addons.fleet.spark.session import SparkFailed, SparkTrace, first_line, spark_session
from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.recorded import Engine, Outcome, Recipe, examine
from kvtrace.clients.running import ClientFailed, ClientPass, Member, Sample
from kvtrace.recorded_calls.reading import evaluable_calls
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.trace import Run, Selection, Trace, open_trace

#: Calls of one task, at most.
_MOST_CALLS: Final = 32
_TASK: Final = pa.schema({"run": pa.string(), "first": pa.int64(), "calls": pa.list_(pa.int64())})
_ANSWER: Final = "run string, first bigint, made binary"


class _ClientResult(Struct, frozen=True):
    """The tables and facts that one client made from a task's calls; `error`: why it failed."""

    tables: dict[str, pa.Table]
    facts: dict[str, Any]
    sample: Sample
    error: str | None


class _TaskResult(Struct, frozen=True):
    """The results of a task: one per client, and messages on calls that failed."""

    results: list[_ClientResult]
    failures: list[str]


def replay_on_spark(
    selection: Selection, recipes: Sequence[Recipe], master: str | None
) -> list[Outcome]:
    """Evaluate the unique calls of runs for clients on Spark, as `clients.recorded.replay`.

    Raises:
        BadSetting: a client needs all calls in one process, or Spark is not installed.
        SparkFailed: a task failed, for example since executors lack the trace or kvtrace.
    """
    clients = [recipe() for recipe in recipes]
    for client in clients:
        if not client.by_call:
            raise BadSetting(
                f"the client {client.name} cannot run on Spark: it needs all calls in one process."
            )
    tasks = [task for run in selection.runs for task in _tasks(selection.trace, run)]
    results_by_run = (
        _run_tasks(spark_session(master), selection.trace, recipes, tasks) if tasks else {}
    )
    return [_write_results(selection.trace, run, clients, results_by_run) for run in selection.runs]


def _tasks(trace: Trace, run: Run) -> Iterator[dict[str, Any]]:
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"])
    by_kernel: dict[int | None, list[int]] = {}
    for row in calls.to_pylist():
        by_kernel.setdefault(row["kernel_id"], []).append(row["call_id"])
    for call_ids in by_kernel.values():
        for begin in range(0, len(call_ids), _MOST_CALLS):
            chunk = call_ids[begin : begin + _MOST_CALLS]
            yield {"run": run.run_id, "first": chunk[0], "calls": chunk}


def _run_tasks(
    session: Any, trace: Trace, recipes: Sequence[Recipe], tasks: Sequence[dict[str, Any]]
) -> dict[str, list[_TaskResult]]:
    from pyspark.errors import PySparkException

    remote = remote_folder(trace.path)
    address = str(trace.path.resolve()) if remote is None else remote.address

    def evaluated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _evaluate_batches(address, recipes, batches)

    # A task is a partition: durations differ, and a free executor takes the next partition.
    frame = session.createDataFrame(pa.Table.from_pylist(list(tasks), _TASK))
    frame = frame.repartitionByRange(min(len(tasks), 10_000), "run", "first")
    try:
        rows = frame.mapInArrow(evaluated, _ANSWER).toArrow().sort_by("first").to_pylist()
    except PySparkException as error:
        raise SparkFailed(f"Spark failed on {first_line(error)}") from error
    results_by_run: dict[str, list[_TaskResult]] = {}
    for row in rows:
        results_by_run.setdefault(row["run"], []).append(pickle.loads(row["made"]))  # noqa: S301 - our own
    return results_by_run


def _evaluate_batches(
    address: str, recipes: Sequence[Recipe], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Evaluate the calls of each row of `batches`, and yield rows with pickled results.

    This runs in Spark's processes; `address` is the trace's.
    """
    trace = open_trace(address)
    for task in (row for batch in batches for row in batch.to_pylist()):
        (run,) = trace.select(task["run"])
        client_pass = ClientPass([recipe() for recipe in recipes])
        steps = examine(trace, run, client_pass, task["calls"])
        failures = [failure for _, failure in steps if failure is not None]
        content = pickle.dumps(
            _TaskResult([_client_result(member) for member in client_pass.members], failures)
        )
        answer = {"run": [task["run"]], "first": [task["first"]], "made": [content]}
        yield pa.RecordBatch.from_pydict(answer)


def _client_result(member: Member) -> _ClientResult:
    tables, facts = member.tables(), dict(member.tell(member.client.settings) or {})
    error = None if member.error is None else str(member.error)
    return _ClientResult(tables, facts, member.sample, error)


def _write_results(
    trace: Trace, run: Run, clients: Sequence[Client], results_by_run: dict[str, list[_TaskResult]]
) -> Outcome:
    """Write the rows that the tasks of a run made, and return the outcome of the run."""
    task_results = results_by_run.get(run.run_id, [])
    errors = []
    for position, client in enumerate(clients):
        results = [task_result.results[position] for task_result in task_results]
        try:
            _write_client_tables(trace, run, client, results)
        except KvtraceError as error:
            errors.append(error)
    calls = len(evaluable_calls(trace, run))
    failures = tuple(failure for task_result in task_results for failure in task_result.failures)
    return Outcome(run.run_id, calls, failures, errors=tuple(errors))


def _write_client_tables(
    trace: Trace, run: Run, client: Client, results: Sequence[_ClientResult]
) -> None:
    error = next((result.error for result in results if result.error is not None), None)
    if error is not None:
        raise ClientFailed(error)
    member = Member(client)
    tables = member.tables()  # tables of no calls: empty, with the right columns
    for name in {name for result in results for name in result.tables}:
        tables_of_name = [result.tables[name] for result in results if name in result.tables]
        tables[name] = pa.concat_tables(
            tables_of_name, promote_options="permissive"
        ).unify_dictionaries()
    if "stacks" in tables:
        tables["stacks"] = _first_rows(tables["stacks"], "stack_id")
    facts = dict(client.joined_settings([result.facts for result in results]))
    samples = [result.sample for result in results if result.sample.calls]
    if samples:
        names = ("calls", "programs", "of")
        facts["sampled"] = {
            name: sum(getattr(sample, name) for sample in samples) for name in names
        }
    trace.add_derived(run.run_id, client.name, tables, facts, declared_tables(client))


def _first_rows(rows: pa.Table, key: str) -> pa.Table:
    """Return the first row with each value of the column `key`."""
    numbered = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    firsts = numbered.select([key, "place"]).group_by(key).aggregate([("place", "min")])
    return rows.take(firsts["place_min"])


class SparkEngine:
    """Engine that queries tables and evaluates calls on Spark.

    `master` is Spark's address, for example local[4]; for errors see `spark_session`.
    """

    def tables(self, trace: Trace, runs: Sequence[Run], master: str | None) -> SparkTrace:
        """Return the tables of runs, for queries in SQL."""
        return SparkTrace(trace, runs, master)

    def evaluation(self, master: str | None) -> Engine:
        """Return a function that evaluates runs' calls for clients on Spark."""
        return partial(replay_on_spark, master=master)


ENGINE: Final = SparkEngine()
