"""Records that backends pass to a session: frozen data, turned into rows by the journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Final

from kvtrace.schema.content import UNKNOWN, Producer

RUN, AUTOTUNE, WARMUP, GRAPH_CAPTURE = range(4)

GRAPH_NUMBERS: Final = 0x7FFFFF

#: Longest text that is kept of a name, an attribute or a scalar, in characters.
TEXT_LIMIT: Final = 1000


def capped(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text, cut after `limit` characters, with the number of characters cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a Python call stack; line and column count from 1.

    `code` is what runs, None in a frame that was not seen running.
    """

    file: str
    line: int | None
    column: int | None
    function: str
    code: CodeType | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One entry of a kernel's flattened signature; `type` is Triton's, `constexpr` a literal."""

    name: str
    type: str
    constexpr: str | None = None
    divisibility: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a compilation: product (None if there is none) and duration."""

    stage: str
    content: bytes | None = None
    duration_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """A node of a traced graph that a kernel was generated from; None where not known."""

    op: str | None = None
    node: str | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """A compiled variant of a kernel: the row of `kernels` with the content of its artifacts.

    `source` is the function's text; `files` are the (path, content) of files named by the kernel's
    locations, with None for content that is not recorded. `function` is the kernel's name on the
    device. `origins` are the graph nodes that it was generated from; None: not known. `compiler`
    is what made the stages.
    """

    name: str
    origin: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    source: str | None = None
    files: tuple[tuple[str, bytes | None], ...] = ()
    signature: tuple[Parameter, ...] = ()
    target: str | None = None
    warp_size: int | None = None
    num_warps: int | None = None
    num_ctas: int | None = None
    num_stages: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    shared_bytes: int | None = None
    registers: int | None = None
    spills: int | None = None
    cache_hit: bool | None = None
    cache_key: str | None = None
    compile_begin: int | None = None
    compile_ns: int | None = None
    thread: int | None = None
    load_begin: int | None = None
    load_ns: int | None = None
    load_thread: int | None = None
    function: str | None = None
    origins: tuple[Origin, ...] | None = None
    stages: tuple[Stage, ...] = ()
    compiler: Producer = UNKNOWN


#: A kernel's record, or a function that makes the record in the background thread.
KernelSource = KernelRecord | Callable[[], KernelRecord]


@dataclass(frozen=True, slots=True)
class StatedWork:
    """Name and work of a launch as the kernel's author states them; None where not stated."""

    name: str | None = None
    flops8: float | None = None
    flops16: float | None = None
    flops32: float | None = None
    flops64: float | None = None
    flops: float | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Columns of `calls` that a backend may know of a call, beside kernel, grid and arguments."""

    stated: StatedWork | None = None


NO_FACTS: Final = CallFacts()


@dataclass(frozen=True, slots=True)
class ArgumentRecord:
    """One entry of `calls.args`; `value` is the contents of the storage, if recorded."""

    name: str
    kind: str
    dtype: str | None = None
    device: str | None = None
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    offset_bytes: int | None = None
    storage_bytes: int | None = None
    alias_group: int | None = None
    alignment: int | None = None
    scalar: str | None = None
    value: bytes | None = None
