"""`kvtrace run`: `KVTRACE=out/ python script.py`, with options in place of variables."""

import sys
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final

from kvtrace.cli.parsing import Argument, BadUsage, Option
from kvtrace.settings import added_settings

#: Options of kvtrace's own settings, by name.
_SETTINGS: Final = {
    "mode": Option(
        metavar="launch|timeline|ops",
        help="How much is recorded  [default: launch]",
        envvar="KVTRACE_MODE",
    ),
    "tensors": Option(
        metavar="none|index|int|all",
        help="Which tensors' contents to record  [default: index]",
        envvar="KVTRACE_TENSORS",
    ),
    "kernels": Option(
        metavar="GLOB", help="Kernels to record  [default: *]", envvar="KVTRACE_KERNELS"
    ),
    "source": Option(
        "--source/--no-source", help="Keep source text in the trace  [default: source]"
    ),
    "target": Option(
        metavar="TARGET",
        help="What to compile for on a machine without a GPU  [default: cuda:90]",
        envvar="KVTRACE_TARGET",
    ),
    "compile": Option(
        metavar="ttir|background|full",
        help="How far to compile without a GPU  [default: full]",
        envvar="KVTRACE_COMPILE",
    ),
    "device": Option(
        metavar="none|answers|cpu",
        help="What programs get that ask for a GPU on a machine without one  [default: answers]",
        envvar="KVTRACE_DEVICE",
    ),
    "sanitize": Option(
        metavar="off|warn|raise",
        help="Judge each new call before its launch  [default: off]",
        envvar="KVTRACE_SANITIZE",
    ),
    "limit": Option(
        metavar="2GB|10M launches|1h|ring:…",
        help="When to stop recording; with ring:, how much of the newest data to keep",
    ),
    "sample": Option(metavar="1/N", help="Record one launch in N in detail, and count all"),
    "window": Option(
        metavar="steps:10-20|time:60s-90s|mark:NAME|signal:USR2",
        help="The part of the program to record",
    ),
}


def command(
    program: Annotated[
        list[str] | None, Argument(metavar="SCRIPT [ARGS…]", help="Script, or module with -m")
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", metavar="FOLDER", help="Directory of the trace")
    ] = Path("out"),
    as_module: Annotated[bool, Option("-m", help="Run a module, as python -m does")] = False,
    *,
    pid: Annotated[
        int | None,
        Option(metavar="PID", min=1, help="Record a process that runs already, by Python 3.14"),
    ] = None,
    seconds: Annotated[
        float | None,
        Option(metavar="S", min=0, help="How long to record it  [default: until Ctrl-C]"),
    ] = None,
    **chosen: str | bool | None,
) -> None:
    """Record a script while it runs, exactly as python would run it, or a running process.

    Words after the script's name are passed to the script. The exit code is the script's.

    Example:
        kvtrace run -o out/ train.py --steps 10
        kvtrace run -o out/ --kernels "softmax*" -m pytest tests/
        kvtrace run -o out/ --limit ring:2GB --sample 1/100 serve.py
        kvtrace run -o out/ --pid 4242 --seconds 30

    """
    import os

    from kvtrace.cli.run_program import check_writable, run_program
    from kvtrace.settings import settings_from_arguments

    options: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    settings = settings_from_arguments(**options).as_environment()
    # The other settings stay as the environment and the project have them.
    variables = {f"KVTRACE_{name.upper()}": settings[f"KVTRACE_{name.upper()}"] for name in options}
    folder = os.path.abspath(output)  # noqa: PTH100
    if (pid is None) is not bool(program) or (pid is None and seconds is not None):
        raise BadUsage("run needs a script, or --pid PID, of which --seconds S is a part.")
    consequence = "the program was not started" if pid is None else f"process {pid} is not recorded"
    check_writable(Path(folder), consequence)
    if pid is not None:
        from kvtrace.cli.run_program import record_process

        print(record_process(pid, folder, seconds, options), file=sys.stderr)
        return
    run_program(program or [], as_module, variables | {"KVTRACE": folder})


def _signature() -> Signature:
    """Return the command's signature: the options above, and one for each setting of add-ons."""
    base = signature(command)
    *declared, _ = base.parameters.values()
    own = [_parameter(name, option) for name, option in _SETTINGS.items()]
    added = []
    for name, setting in added_settings():
        if setting.option is not None:
            metavar, text = setting.option
            shown = f"{text}  [default: {setting.default}]" if setting.default != "" else text
            option = Option(metavar=metavar, help=shown, envvar=f"KVTRACE_{name.upper()}")
            added.append(_parameter(name, option))
    return base.replace(parameters=[*declared[:3], *own, *declared[3:], *added])


def _parameter(name: str, option: Option) -> Parameter:
    """Return a setting's option; one with names of its own is a flag."""
    annotation: Any = Annotated[str | None, option]
    if option.names:
        annotation = Annotated[bool | None, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


vars(command)["__signature__"] = _signature()
