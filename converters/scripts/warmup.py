"""The script that compiles kernels ahead of the launches that waited for them, and its writer."""

import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.output import whole_file
from kvtrace.converters.profile.recompiles import HeldLaunch, held_launches
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.scripts.repro import TORCH_NAMES, descriptor, expression, options_of
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Selection
from kvtrace.text import duration, plural, printable

_WIDTH: Final = 100


class WarmupConverter:
    """Writes one script with a call for each compiled variant that a launch waited for."""

    summary = "A script that compiles what launches waited for ahead of them: --set since=MARK"
    default_output = "warmup.py"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the script.

        Settings: `since` leaves out what was compiled before a mark or a number of seconds.

        Raises:
            BadSetting: no such setting or mark, or the output cannot be written.

        """
        reject_unknown_settings("warmup", settings, ("since",))
        held = held_launches(selection.trace, selection.runs, settings.get("since"))
        calls, left_out = _calls(selection, held)
        with whole_file(output) as file:
            file.write(_script(calls, left_out).encode("utf-8"))
        waiting = [one for one in held if not one.trial]
        waited = duration(sum(one.waited_ns for one in waiting))
        notes = [f"{plural(len(calls), 'call')}, for {plural(len(waiting), 'launch')} of {waited}"]
        return Conversion((output,), (*notes, *(f"left out: {text}" for text in left_out)))


CONVERTER: Final = WarmupConverter()


def _calls(selection: Selection, held: tuple[HeldLaunch, ...]) -> tuple[list[str], list[str]]:
    """Return the calls as Python text, each once, and what cannot be compiled ahead, and why."""
    trace = selection.trace
    calls: dict[tuple[str, int], Mapping[str, Any]] = {}
    kernels: dict[tuple[str, int], Mapping[str, Any]] = {}
    for row in plain_rows(trace.table("calls", selection.runs)):
        calls[row["run"], row["call_id"]] = row
    for row in plain_rows(trace.table("kernels", selection.runs)):
        kernels[row["run"], row["kernel_id"]] = row
    written: dict[str, str] = {}
    left_out: dict[str, None] = {}
    for one in held:
        kernel = kernels[one.run, one.variant.kernel_id]
        try:
            text = "\n".join(_call(kernel, calls[one.run, one.call_id]))
        except BadSetting as problem:
            left_out[printable(str(problem))] = None
            continue
        written.setdefault(text, f"    # launch {one.seq} waited {duration(one.waited_ns)}\n{text}")
    return list(written.values()), list(left_out)


def _call(kernel: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[str]:
    what = f"call {call['call_id']} of kernel {kernel['name']}"
    if kernel["origin"] not in ("jit", "autotune", "gluon") or not kernel["module"]:
        raise BadSetting(f"{what} was made by {kernel['origin']}, which compiles it itself.")
    yield "    ("
    yield f"        {kernel['module']!r},"
    yield f"        {kernel['name']!r},"
    yield f"        {options_of(kernel, source=True)!r},"
    yield "        {"
    rows = call["args"] or ()
    for row in rows:
        yield f"            {row['name']!r}: {_argument(row, rows, what)},"
    yield "        },"
    yield "    ),"


def _argument(row: Mapping[str, Any], rows: Any, what: str) -> str:
    if row["kind"] == "tensor":
        dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
        return f"Pointer({dtype!r}, {int(row['alignment'] or 0)})"
    if row["kind"] == "descriptor":
        found = descriptor(row, rows, what)
        extents = f"{list(found.shape)!r}, {list(found.strides)!r}, {list(found.block_shape)!r}"
        return f"descriptor({found.base.dtype!r}, {extents}, {found.padding!r})"
    return expression(str(row["scalar"]), str(row["dtype"]), f"argument {row['name']} of {what}")


def _script(calls: list[str], left_out: list[str]) -> str:
    body = (
        files("kvtrace.converters.scripts")
        .joinpath("warmup_script.txt")
        .read_text(encoding="utf-8")
    )
    data = "\n".join(["CALLS = [", *calls, "]"])
    return f'"""{_docstring(left_out)}"""\n\n{body.replace("#DATA#", data, 1)}'


def _docstring(left_out: list[str]) -> str:
    lines = ["Compile and load kernels ahead of the launches that waited for them.", ""]
    text = (
        "Import it where the program is ready but serves nothing yet, on the device that it will "
        "use, and call warm_up(). Values and types are those of recorded launches, so what they "
        "are compiled for is too; running it imports the modules that define the kernels."
    )
    lines += textwrap.wrap(text, _WIDTH)
    for problem in left_out:
        lines += ["", *textwrap.wrap(f"Left out: {problem}", _WIDTH)]
    return "\n".join([*lines, ""]).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
