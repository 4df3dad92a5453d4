"""Captions of slices: names and facts, from rows of `kernels`, `calls` and `gpu_kernels`.

All launches of a unique call share one caption.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from kvtrace.converters.profile.device_limits import occupancy_of
from kvtrace.figures.names import full_name
from kvtrace.schema.runs import Run

Row = Mapping[str, Any]
Facts = tuple[tuple[str, "int | str | Facts"], ...]

_LONGEST_SCRIPT: Final = 60


@dataclass(frozen=True, slots=True)
class ExecutedKernel:
    """A kernel's symbol, and the sizes with which it ran: blocks and threads along x, y and z."""

    symbol: str
    grid: tuple[int | None, ...]
    block: tuple[int | None, ...]
    registers: int | None


@dataclass(frozen=True, slots=True)
class Caption:
    """A slice's name and its facts: pairs of a key and an integer, a text, or further pairs.

    `kernel` is that of a device execution, None for others and for copies and fills.
    """

    name: str
    facts: Facts = ()
    kernel: ExecutedKernel | None = None


def launch_caption(
    call_id: int, phase: str | None, call: Row, kernel: Row, stack: Row, more: Facts = ()
) -> Caption:
    """Return the caption of a launch; rows that the trace lacks are {}. `more` facts come last."""
    facts: list[tuple[str, int | str | Facts]] = [("call", call_id)]
    if call.get("kernel_id") is not None:
        facts.append(("kernel", call["kernel_id"]))
    facts += _known_texts(
        ("grid", grid_text(call)),
        ("phase", phase),
        ("defined", place_text(kernel)),
        ("launched from", _frame_text(stack)),
    )
    arguments = arguments_facts(call.get("args") or ())
    if arguments:
        facts.append(("args", arguments))
    facts += more
    return Caption(kernel_name(kernel, f"call {call_id}"), tuple(facts))


def kernel_name(kernel: Row, otherwise: str) -> str:
    """Return the recorded name of a kernel, which may be "", or `otherwise` if it is null."""
    name = kernel.get("name")
    return otherwise if name is None else str(name)


def grid_text(row: Row) -> str | None:
    """Return the grid as `(8, 1, 1)`, with `?` for an unknown extent; None if all are unknown."""
    sizes = [row.get(f"grid_{axis}") for axis in "xyz"]
    if all(size is None for size in sizes):
        return None
    return "(" + ", ".join("?" if size is None else str(size) for size in sizes) + ")"


def place_text(kernel: Row) -> str | None:
    """Return the location of a kernel's definition, such as `kernels.py:12`; None if unknown."""
    if not kernel.get("file"):
        return None
    name = PurePath(kernel["file"]).name
    return name if kernel.get("line") is None else f"{name}:{kernel['line']}"


def _frame_text(stack: Row) -> str | None:
    frames = stack.get("frames") or ()
    if not frames:
        return None
    frame = frames[0]
    return f"{PurePath(frame['file'] or '?').name}:{frame['line']} in {frame['function'] or '?'}"


def arguments_facts(arguments: Sequence[Row]) -> Facts:
    """Return the (name, text) of each argument of a call."""
    names = [argument.get("name") or f"argument {i}" for i, argument in enumerate(arguments)]
    return tuple(
        (names[index], argument_text(argument, index, names))
        for index, argument in enumerate(arguments)
    )


def argument_text(argument: Row, index: int, names: Sequence[str]) -> str:
    """Return an argument as text, such as `fp32[1024, 2] strides (2, 1) on cuda:0` or `128`.

    `index` is its position among the call's arguments, whose names are `names`.
    """
    if argument.get("shape") is None:
        scalar = argument.get("scalar")
        return str(scalar if scalar is not None else argument.get("kind") or "?")
    text = f"{argument.get('dtype') or '?'}{list(argument['shape'])}"
    if argument.get("strides") is not None:
        text += " strides (" + ", ".join(map(str, argument["strides"])) + ")"
    if argument.get("device"):
        text += f" on {argument['device']}"
    if argument.get("offset_bytes"):
        text += f", {argument['offset_bytes']} bytes into its storage"
    storage_index = argument.get("alias_group")
    if storage_index is not None and storage_index != index and 0 <= storage_index < len(names):
        text += f", same storage as {names[storage_index]}"
    return text


def compile_caption(kernel: Row) -> Caption:
    """Return the caption of a kernel's compilation, or of its load from the compiler's cache."""
    verb = "cached" if kernel.get("cache_hit") else "compile"
    facts: list[tuple[str, int | str | Facts]] = [("kernel", kernel["kernel_id"])]
    facts += _known_texts(("target", kernel.get("target")), ("origin", kernel.get("origin")))
    keys = ("num_warps", "num_ctas", "num_stages", "registers", "spills", "shared_bytes")
    facts += [(key, kernel[key]) for key in keys if kernel.get(key) is not None]
    facts += _known_texts(
        ("occupancy", _occupancy_text(kernel)),
        ("defined", place_text(kernel)),
        ("cache key", kernel.get("cache_key")),
    )
    name = kernel_name(kernel, f"kernel {kernel['kernel_id']}")
    return Caption(f"{verb} {name}", tuple(facts))


def load_caption(kernel: Row) -> Caption:
    """Return the caption of the load of a kernel's binary onto the device."""
    name = kernel_name(kernel, f"kernel {kernel['kernel_id']}")
    return Caption(f"load {name}", (("kernel", kernel["kernel_id"]),))


def _occupancy_text(kernel: Row) -> str | None:
    occupancy = occupancy_of(kernel)
    if occupancy is None:
        return None
    warps = f"{occupancy.warps} of {occupancy.of} warps"
    return f"{occupancy.share:.0%} ({warps}, limited by {occupancy.limited_by})"


def device_symbol(row: Row) -> str:
    """Return the device function's name in a row of `gpu_kernels`."""
    return kernel_name(row, "kernel of unknown name")


def execution_caption(row: Row, name: str, more: Facts = ()) -> Caption:
    """Return the caption of an execution on a device, from its row of `gpu_kernels`.

    `name` is the device function's short name, or the kernel's recorded name, which may differ
    from the device's symbol, since Inductor renames users' kernels. `more` are facts of the
    execution's call.
    """
    facts: list[tuple[str, int | str | Facts]] = []
    if row.get("call_id") is not None:
        facts.append(("call", row["call_id"]))
    facts += _known_texts(("grid", grid_text(row)))
    keys = ("registers", "shared_bytes", "bytes", "graph_id", "graph_node_id")
    facts += [(key, row[key]) for key in keys if row.get(key) is not None]
    facts += more
    symbol = device_symbol(row)
    if name != symbol:
        facts += [("function", full_name(symbol)), ("symbol", symbol)]
    if row["kind"] is not None:
        return Caption(name, tuple(facts))
    grid, block = (tuple(row[f"{size}_{axis}"] for axis in "xyz") for size in ("grid", "block"))
    return Caption(name, tuple(facts), ExecutedKernel(symbol, grid, block, row["registers"]))


def step_caption(name: str, number: int, measured: Facts) -> Caption:
    """Return the caption of one step: a range of a name that the program marked repeatedly."""
    return Caption(f"{name} {number}", (("step", number), ("measured", measured)))


def mark_caption(mark: Row) -> Caption:
    """Return the caption of a user's range or instant, with the user's attributes as facts."""
    attributes = tuple((key, value or "") for key, value in mark.get("attributes") or ())
    name = mark.get("name")
    return Caption("mark" if name is None else str(name), attributes)


def message_caption(message: Row) -> Caption:
    """Return the caption of a row of `messages`."""
    facts: Facts = tuple(
        _known_texts(("level", message.get("level")), ("text", message.get("text")))
    )
    return Caption(
        str(message.get("code") or "message"), (*facts, ("count", message["count"] or 1))
    )


def process_title(run: Run, pid: int) -> str:
    """Return the title of a run's process: rank, script, host and commit, if known.

    Viewers show `pid`; if the recorded process id differs, the title has it.
    """
    texts = [script_name(run.command)]
    if run.rank is not None:
        texts.insert(0, f"rank {run.rank}")
    if run.host:
        texts.append(run.host)
    if run.pid is not None and run.pid != pid:
        texts.append(f"pid {run.pid}")
    if run.git_commit:
        texts.append(run.git_commit[:8])
    return " · ".join(texts)


def device_suffix(run: Run, pid: int) -> str:
    """Return the suffix of the names of a run's devices: its rank, else its process id."""
    return f"process {pid}" if run.rank is None else f"rank {run.rank}"


def run_facts(run: Run) -> dict[str, str]:
    """Return the facts of a run by name: command, host, mode, commit, devices and versions."""
    facts = {"command": run.command, "host": run.host, "mode": run.mode, "commit": run.git_commit}
    for device in run.devices:
        facts[f"device {device['index']}"] = device["name"]
    facts |= {f"version of {name}": version for name, version in run.versions.items()}
    return {key: value for key, value in facts.items() if value}


def script_name(command: str | None) -> str:
    """Return the script or module that a command line runs, without folders and options.

    Words are split as by a shell, or at spaces if quotes mismatch.
    """
    try:
        words = shlex.split(command or "")
    except ValueError:
        words = (command or "").split()
    if not words:
        return "python"
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1][:_LONGEST_SCRIPT]
    path = PurePath(next((word for word in words if word.endswith(".py")), words[0]))
    name = path.parent.name if path.name == "__main__.py" else ""  # a package that was started
    return (name or path.name)[:_LONGEST_SCRIPT]


def _known_texts(*pairs: tuple[str, str | None]) -> list[tuple[str, int | str | Facts]]:
    return [(key, value) for key, value in pairs if value is not None]
