"""`kvtrace run`: what `KVTRACE=out/ python script.py` does, with options in place of variables."""

from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

from kvtrace.cli.parsing import Argument, Option
from kvtrace.settings import added_settings


def command(
    program: Annotated[
        list[str], Argument(metavar="SCRIPT [ARGS…]", help="Script, or module with -m")
    ],
    output: Annotated[
        Path, Option("--output", "-o", metavar="DIR", help="Directory of the trace")
    ] = Path("out"),
    as_module: Annotated[bool, Option("-m", help="Run a module, as python -m does")] = False,
    mode: Annotated[
        str,
        Option(
            metavar="launch|timeline|ops",
            help="How much is recorded",
            envvar="KVTRACE_MODE",
        ),
    ] = "launch",
    tensors: Annotated[
        str,
        Option(
            metavar="none|index|int|all",
            help="Which tensors' contents to keep",
            envvar="KVTRACE_TENSORS",
        ),
    ] = "index",
    kernels: Annotated[
        str,
        Option(metavar="GLOB", help="Kernels to record", envvar="KVTRACE_KERNELS"),
    ] = "*",
    source: Annotated[
        bool | None,
        Option(
            "--source/--no-source",
            help="Keep source text in the trace  [default: source]",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str,
        Option(
            metavar="TARGET",
            help="What to compile for where there is no GPU",
            envvar="KVTRACE_TARGET",
        ),
    ] = "cuda:90",
    compile_to: Annotated[
        str,
        Option(
            "--compile",
            metavar="ttir|background|full",
            help="How far to compile without a GPU",
            envvar="KVTRACE_COMPILE",
        ),
    ] = "full",
    device: Annotated[
        str,
        Option(
            metavar="none|answers|cpu",
            help="What a program that asks for a missing GPU gets",
            envvar="KVTRACE_DEVICE",
        ),
    ] = "answers",
    sanitize: Annotated[
        str,
        Option(
            metavar="off|warn|raise",
            help="Judge each new call before its launch",
            envvar="KVTRACE_SANITIZE",
        ),
    ] = "off",
    limit: Annotated[
        str | None,
        Option(
            metavar="2GB|10M launches|1h|ring:…",
            help="When to stop recording; with ring:, how much of the newest data to keep",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        str | None,
        Option(
            metavar="1/N",
            help="Record one launch in N in detail, and count all",
            show_default=False,
        ),
    ] = None,
    **added: str,
) -> None:
    """Record a script while it runs, exactly as python would run it.

    What follows the script's name is the script's own. The exit code is the script's.

    Example:
        kvtrace run -o out/ train.py --steps 10
        kvtrace run -o out/ --kernels "softmax*" -m pytest tests/
        kvtrace run -o out/ --limit ring:2GB --sample 1/100 serve.py

    """
    import os

    from kvtrace.capture.execute import run_program
    from kvtrace.settings import settings_from_arguments

    options: dict[str, Any] = {"mode": mode, "tensors": tensors, "kernels": kernels}
    options |= {"target": target, "compile": compile_to, "sanitize": sanitize}
    options |= {"device": device, **added}
    given = {"source": source, "limit": limit, "sample": sample}
    options |= {name: value for name, value in given.items() if value is not None}
    named = settings_from_arguments(**options).as_environment()
    # The other settings stay what the environment says.
    variables = {f"KVTRACE_{name.upper()}": named[f"KVTRACE_{name.upper()}"] for name in options}
    variables["KVTRACE"] = os.path.abspath(output)  # noqa: PTH100
    run_program(program, as_module, variables)


def _signature() -> Signature:
    """Return what the command takes: the options above, and one for each setting of add-ons."""
    own = signature(command)
    listed = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    for name, setting in added_settings():
        if setting.option is not None:
            metavar, text = setting.option
            kind = Annotated[str, Option(metavar=metavar, help=text)]
            default = str(setting.default)
            listed.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return own.replace(parameters=listed)


vars(command)["__signature__"] = _signature()
