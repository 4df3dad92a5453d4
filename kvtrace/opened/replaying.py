"""Evaluate each distinct call of several runs for clients."""

from collections.abc import Iterator, Sequence

from kvtrace.clients.recorded import Outcome, replay
from kvtrace.clients.registry import load_clients
from kvtrace.opened.progress import Shown, unshown
from kvtrace.schema.trace import Selection


def replay_runs(
    selection: Selection, clients: Sequence[str], shown: Shown = unshown
) -> Iterator[Outcome]:
    """Replay run by run; what clients wrote before is replaced.

    Raises:
        BadSetting: there is no client of a name; it is told before anything is done.

    """
    load_clients(clients)
    for run in selection.runs:
        with shown(f"replay {run.run_id}") as progress:
            outcome = replay(selection.trace, run, progress, clients)
        yield outcome
