"""Converter to scripts that launch recorded calls again."""

import base64
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

from kvtrace.converters.findings.invocation import invocation
from kvtrace.converters.output import whole_file
from kvtrace.converters.registry import Conversion, reject_unknown_settings
from kvtrace.converters.scripts.heaviest import heaviest_calls
from kvtrace.converters.scripts.repro import (
    Choice,
    DescriptorArgument,
    Literal,
    Memory,
    Repro,
    TensorArgument,
    read_repro,
)
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.output_folders import check_output_folder
from kvtrace.schema.trace import Selection
from kvtrace.text import printable, wrapped

_WIDTH: Final = 100
_MEGABYTE: Final = 1 << 20
#: Calls that are tried for each script of `top`: not all can be launched again.
_TRIED: Final = 10


class ReproConverter:
    """Converter to standalone scripts that launch recorded calls again."""

    summary = "A script that launches one call again: --set launch=N, call=ID or finding=ID"
    default_output = "repro.py"

    def convert(
        self, selection: Selection, output: Path, settings: Mapping[str, str]
    ) -> Conversion:
        """Write the script to `output`, and return its path and sentences about it.

        Settings: `launch`, `call` or `finding` choose the call, or `top` that many of the calls
        that took most time, each a script in the folder `output`, and `kernels`, a name a line,
        which of them these are, or which one call without `top`; `bench=1` has scripts time
        themselves; `source=1` compiles the kernel's Python source in place of its IR; `contents` is
        the largest storage, in MiB, whose recorded contents the script includes (64).

        Raises:
            BadSetting: the call or a setting does not exist, data that the launch needs was not
                recorded, or the output cannot be written.

        """
        names = ("launch", "call", "finding", "top", "kernels", "bench", "source", "contents")
        reject_unknown_settings("repro", settings, names)
        limit = _integer_setting(settings, "contents")

        def read(selection: Selection, choice: Choice) -> Repro:
            limit_bytes = (64 if limit is None else limit) * _MEGABYTE
            return read_repro(selection, choice, _is_set(settings, "source"), limit_bytes)

        top, bench = _integer_setting(settings, "top"), _is_set(settings, "bench")
        choosing = {"top", "kernels"} & settings.keys()
        if choosing and settings.keys() & {"launch", "call", "finding"}:
            option = "--top" if top is not None else "--kernel"
            raise BadSetting(f"{option} chooses calls: leave out --launch, --call and --finding")
        kernels = frozenset(settings["kernels"].split("\n")) if "kernels" in settings else None
        if top is not None:
            return _write_heaviest(selection, top, kernels, read, output, bench=bench)
        number, call_id = (_integer_setting(settings, name) for name in ("launch", "call"))
        if kernels is not None:
            heaviest = heaviest_calls(selection, kernels)[0]
            selection, call_id = Selection(selection.trace, (heaviest.run,)), heaviest.call_id
        repro = read(selection, Choice(number, call_id, settings.get("finding")))
        _write(output, script(repro, bench=bench))
        return Conversion((output,), (_invocation(repro), *_different_parts(repro)))


CONVERTER: Final = ReproConverter()


def _write_heaviest(
    selection: Selection,
    top: int,
    kernels: frozenset[str] | None,
    read: Callable[[Selection, Choice], Repro],
    folder: Path,
    *,
    bench: bool,
) -> Conversion:
    """Write scripts of the `top` calls with the most time that can be launched again."""
    if top < 1:
        raise BadSetting(f"--top is a number of calls, 1 or more, not {top}")
    check_output_folder(folder, "fill")
    texts: dict[Path, str] = {}
    notes, refusals = [], []
    for call in heaviest_calls(selection, kernels)[: _TRIED * top]:
        try:
            repro = read(Selection(selection.trace, (call.run,)), Choice(call=call.call_id))
        except BadSetting as problem:
            refusals.append(f"left out: {problem} ({call.phrase})")
            continue
        file = folder / f"{len(texts) + 1:0{len(str(top))}}-{_file_name(repro.kernel)}.py"
        texts[file] = script(repro, bench=bench)
        notes.append(f"{file.name}: {call.phrase}; {_invocation(repro)}")
        if len(texts) == top:
            break
    if not texts:
        raise BadSetting(f"no call can be launched again; {refusals[0]}")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as problem:
        raise BadSetting(f"cannot make {folder}: {problem.strerror or problem}") from problem
    for file, text in texts.items():
        _write(file, text)
    return Conversion(tuple(texts), (*notes, *refusals))


def _file_name(kernel: str) -> str:
    return re.sub(r"\W+", "_", kernel, flags=re.ASCII)[:60]


def _write(file: Path, text: str) -> None:
    with whole_file(file) as stream:
        stream.write(text.encode("utf-8"))


def script(repro: Repro, *, bench: bool = False) -> str:
    """Return the text of the script that launches a call again; with `bench`, it times it."""
    file = files("kvtrace.converters.scripts").joinpath("repro_script.txt")
    timing = f"#: Whether the launch is timed.\nBENCH = {bench}"
    data = "\n".join(["# ---- What was recorded ----", "", *_call_lines(repro), timing, ""])
    body = file.read_text(encoding="utf-8").replace("#DATA#", data, 1)
    return f'"""{_docstring(repro)}"""\n\n{body}'


def _is_set(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "0") not in ("", "0")


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
    finding = repro.finding
    found = [] if finding is None else [f"Finding {finding['finding_id']}: {finding['message']}"]
    for paragraph in (_invocation(repro), _origin_text(repro), *found):
        lines += [*wrapped(paragraph, _WIDTH), ""]
    lines.append("As recorded:")
    lines += _list_lines(_recorded_parts(repro))
    lines += ["", "Not as recorded:"]
    lines += _list_lines(_different_parts(repro))
    lines += [
        "",
        "It needs torch and triton, and prints checksums of what the launch left:",
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
    names = ", ".join(name for name, memory in repro.storages.items() if memory.contents)
    if names:
        number = repro.contents_launch
        launch = "the call's first launch" if number is None else f"launch {number}"
        sentences.append(f"contents of {names}: as they were before {launch}")
    kept = ", ".join(dict.fromkeys(part.storage for part in repro.kept))
    if kept:
        sentences.append(
            f"of {kept}: the parts that launch {repro.kept_launch} read or wrote, before and after "
            "it; what the script leaves there is compared with the recorded result"
        )
    return tuple(sentences)


def _different_parts(repro: Repro) -> tuple[str, ...]:
    sentences = []
    kept = {part.storage for part in repro.kept if part.when == "before"}
    missing = [
        name
        for name, memory in repro.storages.items()
        if memory.contents is None and name not in kept
    ]
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
        "what ran before and beside it: triton.testing.do_bench clears the device's cache"
    )
    return tuple(sentences)


def _call_lines(repro: Repro) -> Iterator[str]:
    """Yield the lines of a call's data, an object `Call` of the script."""
    yield "CALL = Call("
    yield f"    kernel={repro.kernel!r},"
    yield f"    grid={repro.grid!r},"
    yield f"    options={dict(repro.options)!r},"
    yield "    # By the name of their first argument: bytes, element type, contents."
    yield "    storages={"
    for name, memory in repro.storages.items():
        yield f"        {name!r}: {_storage_text(memory)},"
    yield "    },"
    yield "    # In the order of the kernel's parameters."
    yield "    arguments={"
    for name, argument in repro.arguments.items():
        yield f"        {name!r}: {_argument_text(argument)},"
    yield "    },"
    yield "    # Median time in milliseconds, the device, and the number of executions."
    yield f"    recorded={repro.recorded!r},"
    code = repro.code
    yield f"    stage={'module' if code.text is None else code.stage!r},"
    yield f"    code={repr(code.module) if code.text is None else _long_text(code.text)},"
    yield "    # Recorded contents of storages by hash: base64 of zlib."
    yield "    contents={"
    for sha256, compressed in repro.contents.items():
        yield f'        "{sha256}": """'
        yield from textwrap.wrap(base64.b64encode(compressed).decode("ascii"), _WIDTH)
        yield '""",'
    yield "    },"
    yield "    # Parts of storages before and after the launch: begins, sizes, hash of their bytes."
    for when in ("before", "after"):
        parts = [part for part in repro.kept if part.when == when]
        kept = ", ".join(f"{p.storage!r}: Kept({p.spans!r}, {p.artifact!r})" for p in parts)
        yield f"    {when}={{{kept}}},"
    yield ")"


def _storage_text(memory: Memory) -> str:
    fields = [repr(memory.nbytes), repr(memory.dtype)]
    if memory.contents is not None:
        fields.append(repr(memory.contents))
    return f"Storage({', '.join(fields)})"


def _argument_text(argument: TensorArgument | DescriptorArgument | Literal) -> str:
    if isinstance(argument, Literal):
        return argument.text
    if isinstance(argument, TensorArgument):
        a = argument
        return f"Tensor({a.storage!r}, {a.dtype!r}, {a.shape!r}, {a.strides!r}, {a.offset})"
    extents = f"{argument.shape!r}, {argument.strides!r}, {argument.block_shape!r}"
    rest = (argument.padding, argument.layout)
    settings = "" if rest == ("zero", "") else f", {', '.join(map(repr, rest))}"
    return f"Descriptor({_argument_text(argument.base)}, {extents}{settings})"


def _long_text(text: str) -> str:
    """Return a text as a Python string literal of several lines, raw if the text allows it."""
    is_plain = "\r" not in text and "\0" not in text and text.endswith("\n")
    if is_plain and '"""' not in text:
        return f'r"""{text}"""'
    if is_plain and "'''" not in text:
        return f"r'''{text}'''"
    lines = "\n".join(f"    {line!r}" for line in text.splitlines(keepends=True))
    return f"(\n{lines}\n)" if lines else '""'
