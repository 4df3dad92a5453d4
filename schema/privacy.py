"""What each column of the format tells of the program and the people who ran it.

`LEAVES` has every column, and every field of a column that has fields: what private thing it may
hold, and what takes its place when a trace is redacted. A column that is added to `tables.py` is
added here; a test fails otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from kvtrace.schema.layout import OBSERVED

Private = Literal[
    "source", "paths", "names", "scalars", "tensors", "command", "host", "git", "marks"
]

#: Everything that can be left out, in the order in which it is told.
PRIVATE: Final[tuple[Private, ...]] = get_args(Private)

Action = Literal["nothing", "text", "file", "name", "kernel", "parameter", "mark", "job", "digest",
                 "artifact", "stack", "literal", "settings", "facts"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a column or field may hold, and what is done to it where one of that is left out.

    Actions: nothing (null takes its place), text ("redacted"), file, name, kernel, parameter, mark
    and job (a name made up for it, the same wherever it occurs), digest (another one), artifact and
    stack (the new id of what is referred to), literal, settings and facts (see `redaction.py`).
    """

    holds: frozenset[Private] = frozenset()
    action: Action = "nothing"


def _leaf(holds: str, action: Action = "nothing") -> Leaf:
    found = frozenset(each for each in PRIVATE if each in holds.split())
    assert len(found) == len(holds.split())
    return Leaf(found, action)


_OPEN: Final = Leaf()
_ANY: Final = _leaf(" ".join(PRIVATE), "text")
_FREE_TEXT: Final = _leaf("source paths names scalars tensors", "text")
_STACK: Final = _leaf("paths names", "stack")
_NAME: Final = _leaf("names", "name")
_PARAMETER: Final = _leaf("names", "parameter")
_FILE: Final = _leaf("paths", "file")
_ARTIFACT: Final = _leaf("source paths names tensors", "artifact")
_ATTRIBUTES: Final = _leaf("source names scalars tensors")

_PRIVATE_LEAVES: Final[dict[str, dict[str, Leaf]]] = {
    "runs": {
        "group_id": _leaf("host", "job"),
        "command": _leaf("command"),
        "directory": _leaf("paths"),
        "host": _leaf("host"),
        "git_root": _leaf("paths git"),
        "git_commit": _leaf("git"),
        "git_branch": _leaf("git"),
        "git_dirty": _leaf("git"),
        "versions": _leaf("paths host", "facts"),
        "settings": _leaf(" ".join(PRIVATE), "settings"),
    },
    "kernels": {
        "name": _leaf("names", "kernel"),
        "module": _NAME,
        "file": _FILE,
        "source_artifact": _ARTIFACT,
        "files.path": _FILE,
        "files.artifact": _ARTIFACT,
        "signature.name": _PARAMETER,
        "signature.constexpr": _leaf("source paths names", "literal"),
        "options": _leaf("paths names", "facts"),
        "cache_key": _leaf("source paths names"),
        "stages.artifact": _ARTIFACT,
        "function": _NAME,
        "origins.op": _NAME,  # may be an operator of the program's own
        "origins.node": _NAME,
        "origins.module": _NAME,
        "origins.file": _FILE,
        "origins.function": _NAME,
        "origins.code": _leaf("source names"),
    },
    "calls": {
        "args.name": _PARAMETER,
        "args.scalar": _leaf("source paths names scalars", "literal"),
        "args.value_artifact": _ARTIFACT,
        "stack_id": _STACK,
    },
    "contents": {"artifact": _ARTIFACT},
    "checked_launches": {},
    "checked_memory": {"artifact": _ARTIFACT},
    "digests": {"digest": _leaf("tensors")},
    "non_finite": {"nan": _leaf("tensors"), "infinity": _leaf("tensors")},
    "launches": {},
    "gpu_kernels": {"name": _NAME},
    "marks": {"name": _leaf("marks", "mark"), "attributes": _leaf("marks")},
    "stacks": {"stack_id": _STACK, "frames.file": _FILE, "frames.function": _NAME},
    "artifacts": {
        "sha256": _ARTIFACT,
        "size_bytes": _OPEN,
        "bytes": _leaf("source paths names tensors"),
    },
    "ops": {"stack_id": _STACK, "buffer": _PARAMETER},
    "accesses": {"arg": _PARAMETER, "layout": _leaf("scalars tensors")},
    "loops": {"stack_id": _STACK},
    "findings": {
        "finding_id": _leaf("source paths names scalars tensors", "digest"),
        "stack_id": _STACK,
        "arg": _PARAMETER,
        "expression": _FREE_TEXT,
        "reason": _FREE_TEXT,
        "message": _FREE_TEXT,
        "other_stack_id": _STACK,
        "nearest": _FREE_TEXT,
        "assumption": _FREE_TEXT,
    },
    "checks": {
        "reason": _FREE_TEXT,
        "name": _PARAMETER,
        "got": _leaf("tensors"),
        "expected": _leaf("tensors"),
        "worst_bound": _leaf("tensors"),
        "map": _leaf("tensors"),
    },
    "graph_ops": {
        "attributes": _ATTRIBUTES,
        "stack_id": _STACK,
        "input_name": _PARAMETER,
        "output_name": _PARAMETER,
        "aliases": _PARAMETER,
    },
    "buffers": {"name": _NAME, "stack_id": _STACK},
    "messages": {"text": _ANY},
}

#: Columns and fields that hold numbers, times, ids of the trace and words of the format's own.
_OPEN_LEAVES: Final[dict[str, str]] = {
    "runs": "run_id started ended pid parent_run_id rank world_size devices.index devices.name "
    "devices.capability devices.memory_bytes mode schema_version ending self_overhead_ns "
    "dropped_rows overhead.start_ns overhead.launches_ns overhead.waits_ns overhead.profiler_ns "
    "overhead.end_ns overhead.running_ns overhead.thread_ns",
    "kernels": "kernel_id line signature.type signature.divisibility target warp_size num_warps "
    "num_ctas num_stages shared_bytes registers spills origin cache_hit compile_begin compile_ns "
    "thread stages.stage stages.duration_ns load_begin load_ns load_thread origins.line",
    "calls": "call_id kernel_id grid_x grid_y grid_z args.kind args.dtype args.device args.shape "
    "args.strides args.offset_bytes args.storage_bytes args.alias_group args.alignment",
    "contents": "seq call_id arg offset_bytes",
    "checked_launches": "seq call_id why programs bytes",
    "checked_memory": "seq call_id arg when spans.offset_bytes spans.size_bytes",
    "digests": "seq call_id arg when lines",
    "non_finite": "seq call_id arg when",
    "launches": "seq call_id enter exit thread device stream phase graph_id weight",
    "gpu_kernels": "record launch_seq call_id start end device stream correlation_id graph_id "
    "graph_node_id grid_x grid_y grid_z registers shared_bytes kind bytes weight",
    "marks": "mark_id begin end thread",
    "stacks": "frames.line frames.column",
    "artifacts": "kind",
    "ops": "call_id op_index op kind dtype executions elements masked_off bytes unique_bytes "
    "sectors flops loop fresh_bytes",
    "accesses": "call_id op_index program iteration first last active",
    "loops": "call_id op_index trips_min trips_median trips_max",
    "findings": "call_id op_index rule verdict severity access program_x program_y program_z "
    "iteration lane address_offset past_end_bytes lanes method solver_ns other_program_x "
    "other_program_y other_program_z other_op_index",
    "checks": "seq call_id arg answer dtype elements undecided differing nearest bound "
    "worst_offset op_index program_x program_y program_z lane pattern map_columns",
    "graph_ops": "graph_id op_index opcode operands dtype shape",
    "buffers": "call_id order event space bytes partitions",
    "messages": "time level code count",
}

LEAVES: Final[dict[str, dict[str, Leaf]]] = {
    table: leaves | dict.fromkeys(_OPEN_LEAVES[table].split(), _OPEN)
    for table, leaves in _PRIVATE_LEAVES.items()
}

#: Tables whose rows mean nothing without what they hold; they go where that is left out.
ROWS: Final[dict[str, frozenset[Private]]] = {
    **dict.fromkeys(
        ("contents", "checked_launches", "checked_memory", "digests", "non_finite"),
        frozenset[Private](("tensors",)),
    ),
    "graph_ops": _ATTRIBUTES.holds,
}

#: Kinds of artifacts that are the IR's text: they are written anew, without what is left out.
IR_KINDS: Final = frozenset({"ttir", "ttir_generic", "ttgir"})

_COMPILED: Final[frozenset[Private]] = frozenset(("source", "paths", "names"))

#: What other kinds of artifacts tell; one that is not here may tell all that any of these does.
ARTIFACTS: Final[dict[str, frozenset[Private]]] = {
    "source": frozenset(("source", "names")),
    "file": frozenset(("source", "names")),
    "tensor": frozenset(("tensors",)),
    **dict.fromkeys(("llir", "ptx", "amdgcn", "cubin", "hsaco", "hlo"), _COMPILED),
}
UNKNOWN_ARTIFACT: Final[frozenset[Private]] = _COMPILED | {"tensors"}

#: The setting of a pass whose results a run alone can make; those of others can be made again.
MADE_BY_THE_RUN: Final = {"while": "running"}


def made_by_the_run(name: str | None, settings: Mapping[str, Any]) -> bool:
    """Tell whether a pass noted what cannot be made again, while the program ran."""
    return name == OBSERVED or MADE_BY_THE_RUN.items() <= settings.items()
