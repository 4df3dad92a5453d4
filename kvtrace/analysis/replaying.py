"""Evaluate each unique call of several runs for clients."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kvtrace.analysis.progress import Shown, unshown
from kvtrace.clients import Client
from kvtrace.clients.recorded import Outcome, replay
from kvtrace.clients.registry import load_client, load_clients
from kvtrace.schema.trace import Selection

#: Makes a client, wherever it is called.
Recipe = Callable[[], Client]
#: Evaluates the calls of runs for clients, and writes what they made, as `replay` does.
Engine = Callable[[Selection, Sequence[Recipe]], Iterable[Outcome]]


def replay_runs(
    selection: Selection, clients: Sequence[str], shown: Shown = unshown,
    engine: Engine | None = None,
) -> Iterator[Outcome]:  # fmt: skip
    """Replay run by run, or by another engine; what clients wrote before is replaced.

    Raises:
        BadSetting: a name has no client; this is reported before anything is done.

    """
    load_clients(clients)
    if engine is not None:
        yield from engine(
            selection, [partial(load_client, name) for name in dict.fromkeys(clients)]
        )
        return
    for run in selection.runs:
        with shown(f"replay {run.run_id}") as progress:
            outcome = replay(selection.trace, run, progress, clients)
        yield outcome
