"""`kvtrace replay`: the evaluation of each unique call for clients, which fill derived tables."""

from typing import Annotated, Final

from kvtrace.cli import complain
from kvtrace.cli.needs import OF_EVALUATED_CALLS
from kvtrace.cli.options import (
    EngineOption,
    JsonOption,
    MasterOption,
    RunOption,
    TracePath,
    chosen_engine,
    complain_of,
    say,
    select,
)
from kvtrace.cli.parsing import Option
from kvtrace.schema.errors import BadSetting
from kvtrace.text import json_text

ClientOption = Annotated[
    list[str] | None,
    Option(
        "--client",
        metavar="NAME",
        help="What to compute: tracer, profiler, sanitizer, or a client of another "
        "package; several may be named  [default: tracer and profiler]",
    ),
]
#: Refused with what to use: other commands choose kernels of what a pass over all calls found.
NoKernelOption = Annotated[list[str] | None, Option("--kernel", metavar="GLOB", hidden=True)]


NEEDS: Final = OF_EVALUATED_CALLS


def command(
    trace: TracePath,
    run: RunOption = None,
    client: ClientOption = None,
    engine_name: EngineOption = "here",
    master: MasterOption = None,
    as_json: JsonOption = False,
    kernel: NoKernelOption = None,
) -> int:
    """Evaluate each unique call over its whole grid, without a GPU.

    The tracer fills the derived table accesses, the profiler ops and loops: executions, lanes,
    bytes and FLOPs of every IR op. Running a client again replaces its rows. Exit code 2 if no call
    was evaluated.

    Example:
        kvtrace replay out/
        kvtrace replay out/ --client profiler --client sanitizer

    """
    from kvtrace.clients.recorded import DEFAULT, replay_runs
    from kvtrace.clients.registry import load_clients
    from kvtrace.schema.layout import results_beside
    from kvtrace.text import by_reason

    if kernel:
        raise BadSetting(
            "replay evaluates all calls of a run: choose kernels where figures are shown, as "
            "kvtrace profile --replay --kernel GLOB."
        )
    engine = chosen_engine(engine_name, master)
    evaluation = None if engine is None else engine.evaluation(master)
    names = client or list(DEFAULT)
    load_clients(names)  # an unknown name is reported before anything is done
    selection = select(trace, run)
    errors: list[str] = []
    outcomes: list[dict[str, object]] = []
    with results_beside(selection.trace.path):
        for outcome in replay_runs(selection, names, evaluation):
            succeeded = outcome.calls - len(outcome.failures)
            outcomes.append(
                {
                    "run": outcome.run,
                    "calls": outcome.calls,
                    "replayed": succeeded,
                    "notes": list(outcome.notes),
                    "failures": list(outcome.failures),
                    "left_out": outcome.left_out,
                }
            )
            if outcome.left_out is not None:
                complain(outcome.left_out)
                continue
            if not as_json:
                calls = f"{succeeded} of {outcome.calls} unique calls"
                say(f"{outcome.run}: {calls} replayed to their end")
                for text in outcome.notes:
                    say(f"  {text}")
            for failure in by_reason(outcome.failures):
                complain(failure)
            errors += [str(error) for error in outcome.errors]
    for error in dict.fromkeys(errors):
        complain(error)
    if as_json:
        print(json_text("replay", {"runs": outcomes}))
    complain_of(selection.trace)
    if not any(outcome["replayed"] for outcome in outcomes):
        if not any(outcome["calls"] or outcome["left_out"] for outcome in outcomes):
            complain("nothing was replayed: no kernel was launched while this trace was recorded")
        return 2
    return 2 if errors else 0
