"""Converter to a script that compiles kernels before they are launched."""

import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.output import whole_file
from kvtrace.converters.profile.recompiles import DelayedLaunch, delayed_launches
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.scripts.repro import descriptor, options_of
from kvtrace.converters.scripts.repro_source import expression
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.vocabularies import TORCH_NAMES
from kvtrace.text import duration, plural, printable

_WIDTH: Final = 100


class WarmupConverter:
    """Converter to a script that compiles each variant for which a launch waited."""

    summary = "A script that compiles kernels that launches waited for: --set since=MARK"
    default_output = "warmup.py"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the script to `output`, and return its path and sentences about it.

        Settings: `since`, a mark or a number of seconds; earlier launches do not count.

        Raises:
            BadSetting: a setting or the mark does not exist, or the output cannot be written.

        """
        reject_unknown_settings("warmup", settings, ("since",))
        delayed = delayed_launches(selection.trace, selection.runs, settings.get("since"))
        calls, left_out = _call_texts(selection, delayed)
        with whole_file(output) as file:
            file.write(_script_text(calls, left_out).encode("utf-8"))
        waiting = [launch for launch in delayed if not launch.trial]
        waited = duration(sum(launch.waited_ns for launch in waiting))
        launches = plural(len(waiting), "launch")
        notes = [f"{plural(len(calls), 'call')}, for {launches} that waited {waited}"]
        return Conversion((output,), (*notes, *(f"left out: {text}" for text in left_out)))


CONVERTER: Final = WarmupConverter()


def _call_texts(
    selection: Selection, delayed: tuple[DelayedLaunch, ...]
) -> tuple[list[str], list[str]]:
    """Return the distinct calls of delayed launches as Python text, and reasons for omissions."""
    trace = selection.trace
    call_rows, kernel_rows = (
        plain_rows(trace.table(name, selection.runs)) for name in ("calls", "kernels")
    )
    calls = {(row["run"], row["call_id"]): row for row in call_rows}
    kernels = {(row["run"], row["kernel_id"]): row for row in kernel_rows}
    text_with_comment: dict[str, str] = {}
    omission_reasons: dict[str, None] = {}
    for launch in delayed:
        kernel = kernels[launch.run, launch.variant.kernel_id]
        try:
            text = "\n".join(_call_lines(trace, kernel, calls[launch.run, launch.call_id]))
        except BadSetting as problem:
            omission_reasons[printable(str(problem))] = None
            continue
        comment = f"    # launch {launch.seq} waited {duration(launch.waited_ns)}"
        text_with_comment.setdefault(text, f"{comment}\n{text}")
    return list(text_with_comment.values()), list(omission_reasons)


def _call_lines(trace: Trace, kernel: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[str]:
    what = f"call {call['call_id']} of kernel {kernel['name']}"
    if kernel["origin"] not in ("jit", "autotune", "gluon") or not kernel["module"]:
        maker = kernel["origin"] or "an unknown origin"
        raise BadSetting(f"{what} comes from {maker}, which compiles its own kernels")
    if call["args"] is None:
        raise BadSetting(f"the arguments of {what} were not recorded")
    yield "    ("
    yield f"        {kernel['module']!r},"
    yield f"        {kernel['name']!r},"
    yield f"        {options_of(trace, kernel, source=True)!r},"
    yield "        {"
    rows = call["args"]
    types = {parameter["name"]: parameter["type"] for parameter in kernel["signature"] or ()}
    for row in rows:
        text = _argument_text(row, rows, what, types.get(row["name"], ""))
        yield f"            {row['name']!r}: {text},"
    yield "        },"
    yield "    ),"


def _argument_text(row: Mapping[str, Any], rows: Any, what: str, type_: str) -> str:
    if row["kind"] == "tensor":
        dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
        return f"Pointer({dtype!r}, {int(row['alignment'] or 0)})"
    if row["kind"] == "descriptor":
        recorded = descriptor(row, rows, what, type_)
        extents = (
            f"{list(recorded.shape)!r}, {list(recorded.strides)!r}, {list(recorded.block_shape)!r}"
        )
        rest = f"{recorded.padding!r}, {recorded.layout!r}"
        return f"descriptor({recorded.base.dtype!r}, {extents}, {rest})"
    return expression(str(row["scalar"]), str(row["dtype"]), f"argument {row['name']} of {what}")


def _script_text(calls: list[str], left_out: list[str]) -> str:
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
        "Import this file once the program has started, before it serves, on the device that it "
        "will use, and call warm_up(). Values and types are those of recorded launches, so the "
        "same variants are compiled. The modules that define the kernels are imported."
    )
    lines += textwrap.wrap(text, _WIDTH)
    for problem in left_out:
        lines += ["", *textwrap.wrap(f"Left out: {problem}", _WIDTH)]
    return "\n".join([*lines, ""]).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
