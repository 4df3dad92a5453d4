"""Evaluation of each unique call of several runs for clients."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kvtrace.clients import Client
from kvtrace.clients.recorded import Outcome, replay
from kvtrace.clients.registry import load_client, load_clients
from kvtrace.progress import progress
from kvtrace.schema.trace import Selection

#: A function that makes a client, in any process.
Recipe = Callable[[], Client]
#: A function that evaluates the calls of runs for clients and writes their tables, as `replay`.
Engine = Callable[[Selection, Sequence[Recipe]], Iterable[Outcome]]


def replay_runs(
    selection: Selection, clients: Sequence[str], engine: Engine | None = None
) -> Iterator[Outcome]:
    """Evaluate each unique call for clients, in this process or by an engine; yield outcomes.

    There is one outcome per run. The clients' rows in the trace are replaced.

    Raises:
        BadSetting: No client has a given name; raised before any call is evaluated.

    """
    load_clients(clients)
    if engine is not None:
        yield from engine(
            selection, [partial(load_client, name) for name in dict.fromkeys(clients)]
        )
        return
    for run in selection.runs:
        with progress(f"replay {run.run_id}") as report:
            outcome = replay(selection.trace, run, report, clients)
        yield outcome
