"""Converter to a script that compiles kernels before they are launched."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.output import whole_file
from kvtrace.converters.profile.argument_classes import RecordedCall
from kvtrace.converters.profile.waits import read_waits, with_traces
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.scripts.repro import descriptor, options_of
from kvtrace.converters.scripts.repro_source import expression
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.vocabularies import TORCH_NAMES
from kvtrace.text import duration, plural, printable

_WIDTH: Final = 100


class WarmupConverter:
    """Converter to a script that compiles each variant for which a launch waited."""

    summary = (
        "A script that compiles kernels that launches waited for: --set since=MARK, also=TRACE,…"
    )
    default_output = "warmup.py"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the script to `output`, and return its path and sentences about it.

        Settings: `since`, a mark or a number of seconds; earlier launches do not count. `also`,
        further traces, separated by commas, of which all runs count.

        Raises:
            BadSetting: a setting or the mark does not exist, or the output cannot be written.

        """
        reject_unknown_settings("warmup", settings, ("since", "also"))
        also = filter(None, settings.get("also", "").split(","))
        waits = read_waits(with_traces(selection, also), settings.get("since"))
        calls, left_out = _call_texts(waits.examples)
        target = next((call.kernel["target"] for call in waits.examples), None)
        with whole_file(output) as file:
            file.write(_script_text(calls, left_out, target).encode("utf-8"))
        waited = duration(sum(variant.waited_ns for variant in waits.variants))
        launches = plural(sum(variant.launches for variant in waits.variants), "launch")
        notes = [f"{plural(len(calls), 'call')}, for {launches} that waited {waited}"]
        return Conversion((output,), (*notes, *(f"left out: {text}" for text in left_out)))


CONVERTER: Final = WarmupConverter()


def _call_texts(examples: Iterable[RecordedCall]) -> tuple[list[str], list[str]]:
    """Return the distinct calls as Python text, and reasons for omissions."""
    texts, omission_reasons = dict[str, None](), dict[str, None]()
    for call in examples:
        try:
            texts["\n".join(_call_lines(call.trace, call.kernel, call.row))] = None
        except BadSetting as problem:
            omission_reasons[printable(str(problem))] = None
    return list(texts), list(omission_reasons)


def _call_lines(trace: Trace, kernel: Mapping[str, Any], call: Mapping[str, Any]) -> Iterator[str]:
    what = f"call {call['call_id']} of kernel {kernel['name']}"
    if kernel["origin"] not in ("jit", "autotune", "gluon") or not kernel["module"]:
        maker = kernel["origin"] or "an unknown origin"
        raise BadSetting(f"{what} comes from {maker}, which compiles its own kernels")
    yield "    ("
    yield f"        {kernel['module']!r},"
    yield f"        {kernel['name']!r},"
    yield f"        {options_of(trace, kernel, source=False)!r},"
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


def _script_text(calls: list[str], left_out: list[str], target: str | None) -> str:
    body = (
        files("kvtrace.converters.scripts")
        .joinpath("warmup_script.txt")
        .read_text(encoding="utf-8")
    )
    data = "\n".join([f"TARGET = {target!r}", "CALLS = [", *calls, "]"])
    return f'"""{_docstring(left_out)}"""\n\n{body.replace("#DATA#", data, 1)}'


def _docstring(left_out: list[str]) -> str:
    lines = ["Compile kernels ahead of the launches that waited for them.", ""]
    text = (
        "Run this file to compile into Triton's cache, in parallel, for --target or the recorded "
        "target; no GPU is needed. Then, or instead, import it in the program once it has started, "
        "before it serves, and call warm_up(), which also loads. Values and types are those of "
        "recorded launches. The modules that define the kernels are imported."
    )
    lines += textwrap.wrap(text, _WIDTH)
    for problem in left_out:
        lines += ["", *textwrap.wrap(f"Left out: {problem}", _WIDTH)]
    return "\n".join([*lines, ""]).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
