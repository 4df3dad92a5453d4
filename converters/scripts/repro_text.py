"""Converter to a script that launches one recorded call again."""

import base64
import textwrap
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

from kvtrace.converters.findings.invocation import invocation
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.scripts.repro import (
    Choice,
    Code,
    DescriptorArgument,
    Literal,
    Repro,
    TensorArgument,
    read_repro,
)
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import Selection
from kvtrace.text import printable, wrapped

_WIDTH: Final = 100
_MEGABYTE: Final = 1 << 20

_FROM_IR: Final = '''\
def prepared(folder):
    """Compile the recorded IR, and return a function that launches it with arguments."""
    path = folder / "kernel.#STAGE#"
    path.write_text(IR, encoding="utf-8")
    compiled = triton.compile(str(path), options=OPTIONS)
    return lambda given: compiled[GRID](*given.values())'''

_FROM_TEXT: Final = '''\
def prepared(folder):
    """Import the recorded source, and return a function that launches the kernel."""
    path = folder / "recorded_kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, KERNEL)
    return lambda given: kernel[GRID](**{name: nested(name, given) for name in NAMES}, **OPTIONS)'''

_FROM_MODULE: Final = '''\
def prepared(folder):
    """Import the kernel, and return a function that launches it with arguments."""
    kernel = getattr(importlib.import_module(MODULE), KERNEL)
    while not isinstance(kernel, triton.runtime.jit.JITFunction):
        kernel = kernel.fn  # the recorded call has the values that an autotuner chose
    return lambda given: kernel[GRID](**{name: nested(name, given) for name in NAMES}, **OPTIONS)'''

_NESTED: Final = '''\
def nested(name, given):
    """Return a parameter's value: an argument, or a tuple of arguments `name.0`, `name.1`, …"""
    if name in given:
        return given[name]
    parts = [key[len(name) + 1 :].split(".")[0] for key in given if key.startswith(f"{name}.")]
    return tuple(nested(f"{name}.{part}", given) for part in dict.fromkeys(parts))


'''


class ReproConverter:
    """Converter to a standalone script that launches one recorded call again."""

    summary = "A script that launches one call again: --set launch=N, call=ID or finding=ID"
    default_output = "repro.py"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the script to `output`, and return its path and sentences about it.

        Settings: `launch`, `call` or `finding` choose the call; `source=1` compiles the kernel's
        Python source in place of its IR; `contents` is the largest storage, in MiB, whose recorded
        contents the script includes (64).

        Raises:
            BadSetting: the call or a setting does not exist, data that the launch needs was not
                recorded, or the output cannot be written.

        """
        reject_unknown_settings(
            "repro", settings, ("launch", "call", "finding", "source", "contents")
        )
        choice = Choice(
            _integer_setting(settings, "launch"),
            _integer_setting(settings, "call"),
            settings.get("finding"),
        )
        limit = _integer_setting(settings, "contents")
        repro = read_repro(
            selection,
            choice,
            source=settings.get("source", "0") not in ("", "0"),
            limit_bytes=(64 if limit is None else limit) * _MEGABYTE,
        )
        with whole_file(output) as file:
            file.write(script(repro).encode("utf-8"))
        return Conversion((output,), (_invocation(repro), *_different_parts(repro)))


CONVERTER: Final = ReproConverter()


def script(repro: Repro) -> str:
    """Return the text of the script that launches a call again."""
    body = (
        files("kvtrace.converters.scripts").joinpath("repro_script.txt").read_text(encoding="utf-8")
    )
    body = body.replace("#COMPILE#", _compile_function(repro.code), 1)
    data = "\n".join(_data_lines(repro))
    return f'"""{_docstring(repro)}"""\n\n{body.replace("#DATA#", data, 1)}'


def _compile_function(code: Code) -> str:
    if code.stage != "source":
        return _FROM_IR.replace("#STAGE#", code.stage)
    return _NESTED + (_FROM_MODULE if code.text is None else _FROM_TEXT)


def _integer_setting(settings: Mapping[str, str], name: str) -> int | None:
    text = settings.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError as error:
        raise BadSetting(f"{name} must be a number, not {text!r}") from error


def _invocation(repro: Repro) -> str:
    return invocation(repro.kernel, repro.grid, repro.rows) or repro.kernel


def _docstring(repro: Repro) -> str:
    lines = [f"Launch {repro.kernel}[{repro.grid}] once more, as it was recorded.", ""]
    for paragraph in (_invocation(repro), _origin_text(repro), *_finding_sentences(repro)):
        lines += [*wrapped(paragraph, _WIDTH), ""]
    lines.append("As recorded:")
    lines += _list_lines(_recorded_parts(repro))
    lines += ["", "Not as recorded:"]
    lines += _list_lines(_different_parts(repro))
    lines += [
        "",
        "It needs torch and triton, and prints checksums and the median time of some launches:",
        "",
        "    python repro.py --check                # on a GPU",
        "    kvtrace run -o out/ repro.py --check   # without one, in kvtrace's evaluator",
        "",
    ]
    text = "\n".join(map(printable, lines))  # Python takes no NUL in a script
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _list_lines(points: tuple[str, ...]) -> Iterator[str]:
    for point in points:
        yield from textwrap.wrap(
            printable(point), _WIDTH, initial_indent="- ", subsequent_indent="  "
        )


def _origin_text(repro: Repro) -> str:
    run = repro.run
    launch_text = "" if repro.launch is None else f"launch {repro.launch['seq']}, "
    phrases = [f"It is {launch_text}call {repro.call_id} of run {run.run_id}"]
    if run.command:
        phrases.append(f"of `{run.command}`")
    if run.git_commit:
        phrases.append(f"at commit {run.git_commit[:12]}{' with changes' if run.git_dirty else ''}")
    if repro.launch is not None and repro.launch["enter"] is not None:
        launch_time = datetime.fromtimestamp(repro.launch["enter"] // 10**9, UTC)
        phrases.append(f"on {launch_time:%Y-%m-%d at %H:%M:%S} UTC")
    versions = [f"{n} {run.versions[n]}" for n in ("triton", "torch") if n in run.versions]
    devices = sorted({str(device["name"]) for device in run.devices if device["name"]})
    text = f"{', '.join(phrases)} ({', '.join([*versions, *devices])})."
    file, line = repro.place
    return text if file is None else f"{text} The kernel is defined in {file}, line {line}."


def _finding_sentences(repro: Repro) -> Iterator[str]:
    if repro.finding is not None:
        yield f"Finding {repro.finding['finding_id']}: {repro.finding['message']}"


def _recorded_parts(repro: Repro) -> tuple[str, ...]:
    code = {
        "ttir": "the kernel's Triton IR (TTIR), compiled again",
        "ttgir": "the kernel's GPU IR (TTGIR), compiled again",
    }.get(repro.code.stage, "the kernel's Python source, compiled again")
    options = ", ".join(f"{name}={value}" for name, value in repro.options.items())
    sentences = [
        f"{code} with {options or 'no option'}",
        "grid, scalars and constants",
        "of each tensor: element type, shape, strides; of each storage: its size, where tensors "
        "begin in it, and which share it",
    ]
    if repro.contents:
        names = ", ".join(name for name, memory in repro.storages.items() if memory.contents)
        sentences.append(f"contents of {names}: as they were before the call's first launch")
    return tuple(sentences)


def _different_parts(repro: Repro) -> tuple[str, ...]:
    sentences = []
    missing = [name for name, memory in repro.storages.items() if memory.contents is None]
    if missing:
        sentences.append(
            f"contents of {', '.join(missing)}: they were not recorded, and are random with fixed "
            "seeds: floats from a normal distribution, integers from 0 to 3"
        )
    sentences += repro.notes
    if repro.code.stage == "source" and repro.code.text is None:
        sentences.append(f"the kernel is imported from {repro.code.module}, as it is now")
    sentences.append("the addresses of storages: only that they are aligned as new tensors are")
    unaligned = [
        str(row["name"])
        for row in repro.rows
        if row["alignment"] is not None and (row["alignment"] - (row["offset_bytes"] or 0)) % 16
    ]
    if unaligned:
        sentences.append(
            f"{', '.join(unaligned)}: the storage did not begin at a multiple of 16 bytes"
        )
    sentences.append(
        "what ran before and beside it; timed launches find the device's cache cleared"
    )
    return tuple(sentences)


def _data_lines(repro: Repro) -> Iterator[str]:
    yield ""
    yield f"KERNEL = {repro.kernel!r}"
    yield f"GRID = {repro.grid!r}"
    yield f"OPTIONS = {dict(repro.options)!r}"
    yield "#: Storages by the name of their first argument: bytes, element type, contents."
    yield "STORAGES = {"
    for name, memory in repro.storages.items():
        yield f"    {name!r}: ({memory.nbytes}, {memory.dtype!r}, {memory.contents!r}),"
    yield "}"
    yield "#: Arguments in the order of the kernel's parameters."
    yield "ARGUMENTS = {"
    for name, argument in repro.arguments.items():
        yield f"    {name!r}: {_argument_text(argument)},"
    yield "}"
    recorded = repro.recorded
    time = None if recorded is None else (recorded.median_ns / 1e6, recorded.where, recorded.count)
    yield "#: Median time in milliseconds, the device, and the number of executions."
    yield f"RECORDED = {time!r}"
    yield from _code_lines(repro)
    yield "#: Recorded contents of storages by hash: base64 of zlib."
    yield "CONTENTS = {"
    for sha256, compressed in repro.contents.items():
        yield f'    "{sha256}": """'
        yield from textwrap.wrap(base64.b64encode(compressed).decode("ascii"), _WIDTH)
        yield '""",'
    yield "}"


def _code_lines(repro: Repro) -> Iterator[str]:
    code = repro.code
    if code.stage == "source":
        parameter_names = dict.fromkeys(name.split(".")[0] for name in repro.arguments)
        yield f"NAMES = {tuple(parameter_names)!r}"
    if code.text is None:
        yield f"MODULE = {code.module!r}"
        return
    yield f"{'SOURCE' if code.stage == 'source' else 'IR'} = {_long_text(code.text)}"


def _argument_text(argument: TensorArgument | DescriptorArgument | Literal) -> str:
    if isinstance(argument, Literal):
        return argument.text
    if isinstance(argument, TensorArgument):
        a = argument
        return f"Tensor({a.storage!r}, {a.dtype!r}, {a.shape!r}, {a.strides!r}, {a.offset})"
    extents = f"{argument.shape!r}, {argument.strides!r}, {argument.block_shape!r}"
    padding = "" if argument.padding == "zero" else f", {argument.padding!r}"
    return f"Descriptor({_argument_text(argument.base)}, {extents}{padding})"


def _long_text(text: str) -> str:
    """Return a text as a Python string literal of several lines, raw if the text allows it."""
    is_plain = "\r" not in text and "\0" not in text and text.endswith("\n")
    if is_plain and '"""' not in text:
        return f'r"""{text}"""'
    if is_plain and "'''" not in text:
        return f"r'''{text}'''"
    lines = "\n".join(f"    {line!r}" for line in text.splitlines(keepends=True))
    return f"(\n{lines}\n)" if lines else '""'
