"""`kvtrace fault`: the launch, line and argument behind a GPU fault."""

import sys
from pathlib import Path
from typing import Annotated

from kvtrace.cli.options import JsonOption, RunOption, complain_of, print_lines
from kvtrace.cli.parsing import Argument, BadUsage, Option
from kvtrace.text import json_text, plural


def command(
    trace: Annotated[
        Path,
        Argument(
            metavar="TRACE",
            help="Trace directory, or one dump's file; with --now also the number of a process",
        ),
    ],
    run: RunOption = None,
    dump: Annotated[
        Path | None,
        Option(
            "--dump",
            metavar="FILE",
            help="A GPU core dump; without it those in the trace's folder faults",
        ),
    ] = None,
    now: Annotated[
        bool,
        Option(
            "--now",
            help="First ask the processes that are recorded into TRACE now where they hang: for "
            "Python stacks, shown at once, and for GPU dumps, after which a program ends",
        ),
    ] = False,
    as_json: JsonOption = False,
    brief: Annotated[
        bool, Option("--brief", help="Print at most five lines on the newest dump")
    ] = False,
) -> int:
    """Say which launch, line and argument a GPU fault came from, and why.

    Record the program with KVTRACE_FAULTS=on: then the driver leaves a dump in the trace when a
    kernel fails. The dump has the kernel, the program, the instruction, the registers and the
    parameters; the trace has the call that they fit, its tensors and its IR. No GPU is needed.
    Exit code 1 if there is a fault.

    Example:
        KVTRACE=out/ KVTRACE_FAULTS=on python train.py
        kvtrace fault out/
        kvtrace fault core.nvcudmp
        kvtrace fault out/ --now
        kvtrace fault 4662 --now
    """
    from kvtrace.addons.fault.dumps import explained

    asked = None
    if now and dump is not None:
        raise BadUsage("--now shows the dumps that it asks for: leave --dump out.")
    if now:
        from kvtrace.addons.fault.asking import ask_now, trace_of_process

        pid = int(str(trace)) if _is_number(str(trace)) and not trace.exists() else None
        trace = trace if pid is None else trace_of_process(pid)
        asking = ask_now(trace, pid)
        asked = asking.answers
        if asking.drivers:
            if not (as_json or brief):
                found = explained(trace, run, None, asked=asked)
                print_lines([*found.text(), "", _waiting_text(asking.drivers)])
                sys.stdout.flush()  # also into a pipe: dumps may take a minute
            asking.ask_for_dumps()
    found = explained(trace, run, dump, newest=brief, asked=asked)
    if as_json:
        from kvtrace.addons.fault.texts import process_objects

        objects = [one for process in found.processes for one in process_objects(process)]
        print(json_text("fault", {"faults": objects}))
    elif brief:
        from kvtrace.addons.fault.texts import brief_text

        for _, faults in found.dumps[:1]:
            print_lines(brief_text(faults) if faults else ())
    elif asked is not None and asking.drivers:
        print_lines(["", *found.dump_text()])
    else:
        print_lines(found.text())
    if found.trace is not None:
        complain_of(found.trace)
    return int(any(fault.exception for _, faults in found.dumps for fault in faults))


def _waiting_text(drivers: int) -> str:
    return (
        f"Now CUDA's driver is asked for {plural(drivers, 'dump')} of what is on the device, after "
        "which a program ends."
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
