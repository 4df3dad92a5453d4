"""Replay and sanitize on Spark: each task evaluates some unique calls of a run.

Calls of one kernel go together, as they share what is worked out of its IR. A task opens the trace
itself and sends back the rows that clients made; here they are joined and written, as `replay`
writes them. Clients can be spread whose rows of a call depend on that call alone (`by_call`).
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa

from kvtrace.addons.fleet.spark.session import SparkFailed, first_line, spark_session
from kvtrace.analysis.replaying import Engine, Recipe
from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.recorded import Outcome, examine
from kvtrace.clients.running import ClientFailed, ClientPass, Member, Sample
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.trace import Run, Selection, Trace, open_trace

#: Calls of one task, at most.
_MOST_CALLS: Final = 32
_TASK: Final = pa.schema({"run": pa.string(), "first": pa.int64(), "calls": pa.list_(pa.int64())})
_ANSWER: Final = "run string, first bigint, made binary"


@dataclass(frozen=True, slots=True)
class _Made:
    """What one client made of some calls; `error` is what it failed on."""

    tables: dict[str, pa.Table]
    facts: dict[str, Any]
    sample: Sample
    error: str | None


@dataclass(frozen=True, slots=True)
class _Examined:
    """What a task found: what each client made, and the calls whose end was not reached."""

    made: list[_Made]
    failures: list[str]


def on_spark(master: str | None) -> Engine:
    """Return what evaluates calls on Spark; `master` and errors as `spark_session`."""
    return partial(replay_on_spark, master=master)


def replay_on_spark(
    selection: Selection, recipes: Sequence[Recipe], master: str | None
) -> list[Outcome]:
    """Evaluate the unique calls of runs for clients, as `clients.recorded.replay`, on Spark.

    Raises:
        BadSetting: a client cannot be spread, or Spark is not installed.
        SparkFailed: a task failed, as where executors do not find the trace or kvtrace.

    """
    clients = [recipe() for recipe in recipes]
    for client in clients:
        if not client.by_call:
            raise BadSetting(f"the client {client.name} needs all calls of a run, in one process.")
    tasks = [task for run in selection.runs for task in _tasks(selection.trace, run)]
    examined = _run(spark_session(master), selection.trace, recipes, tasks) if tasks else {}
    return [_joined(selection.trace, run, clients, examined) for run in selection.runs]


def _tasks(trace: Trace, run: Run) -> Iterator[dict[str, Any]]:
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"])
    by_kernel: dict[int | None, list[int]] = {}
    for row in calls.to_pylist():
        by_kernel.setdefault(row["kernel_id"], []).append(row["call_id"])
    for numbers in by_kernel.values():
        for begin in range(0, len(numbers), _MOST_CALLS):
            chosen = numbers[begin : begin + _MOST_CALLS]
            yield {"run": run.run_id, "first": chosen[0], "calls": chosen}


def _run(
    session: Any, trace: Trace, recipes: Sequence[Recipe], tasks: Sequence[dict[str, Any]]
) -> dict[str, list[_Examined]]:
    from pyspark.errors import PySparkException

    remote = remote_folder(trace.path)
    place = str(trace.path.resolve()) if remote is None else remote.address

    def examined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _examined(place, recipes, batches)

    # A task is a partition: what they take differs, and an executor has its next when it is free.
    frame = session.createDataFrame(pa.Table.from_pylist(list(tasks), _TASK))
    frame = frame.repartitionByRange(min(len(tasks), 10_000), "run", "first")
    try:
        rows = frame.mapInArrow(examined, _ANSWER).toArrow().sort_by("first").to_pylist()
    except PySparkException as error:
        raise SparkFailed(f"Spark failed on {first_line(error)}") from error
    found: dict[str, list[_Examined]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append(pickle.loads(row["made"]))  # noqa: S301 - our own
    return found


def _examined(
    place: str, recipes: Sequence[Recipe], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Evaluate calls where Spark runs this."""
    trace = open_trace(place)
    for task in (row for batch in batches for row in batch.to_pylist()):
        (run,) = trace.select(task["run"])
        together = ClientPass([recipe() for recipe in recipes])
        steps = examine(trace, run, together, frozenset(task["calls"]))
        failures = [failure for _, failure in steps if failure is not None]
        made = pickle.dumps(_Examined([_made(member) for member in together.members], failures))
        answer = {"run": [task["run"]], "first": [task["first"]], "made": [made]}
        yield pa.RecordBatch.from_pydict(answer)


def _made(member: Member) -> _Made:
    tables, facts = member.tables(), dict(member.tell(member.client.settings) or {})
    error = None if member.error is None else str(member.error)
    return _Made(tables, facts, member.sample, error)


def _joined(
    trace: Trace, run: Run, clients: Sequence[Client], examined: dict[str, list[_Examined]]
) -> Outcome:
    """Write what the tasks of a run made, and say what became of them."""
    parts = examined.get(run.run_id, [])
    errors = []
    for place, client in enumerate(clients):
        made = [part.made[place] for part in parts]
        try:
            _write(trace, run, client, made)
        except KvtraceError as error:
            errors.append(error)
    calls = trace.table("calls", (run,), columns=["call_id"]).num_rows
    failures = tuple(failure for part in parts for failure in part.failures)
    return Outcome(run.run_id, calls, failures, errors=tuple(errors))


def _write(trace: Trace, run: Run, client: Client, made: Sequence[_Made]) -> None:
    failed = next((each.error for each in made if each.error is not None), None)
    if failed is not None:
        raise ClientFailed(failed)
    member = Member(client)
    tables = member.tables()  # those of no calls: empty, of the right columns
    for name in {name for each in made for name in each.tables}:
        given = [each.tables[name] for each in made if name in each.tables]
        tables[name] = pa.concat_tables(given, promote_options="permissive").unify_dictionaries()
    if "stacks" in tables:
        tables["stacks"] = _once(tables["stacks"], "stack_id")
    facts = dict(client.joined_settings([each.facts for each in made]))
    samples = [each.sample for each in made if each.sample.calls]
    if samples:
        names = ("calls", "programs", "of")
        facts["sampled"] = {name: sum(getattr(each, name) for each in samples) for name in names}
    trace.add_derived(run.run_id, client.name, tables, facts, declared_tables(client))


def _once(rows: pa.Table, key: str) -> pa.Table:
    """Return the first row of each key."""
    numbered = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    firsts = numbered.select([key, "place"]).group_by(key).aggregate([("place", "min")])
    return rows.take(firsts["place_min"])
