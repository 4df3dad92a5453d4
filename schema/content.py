"""Rows identified by content: artifacts (SHA-256) and call stacks (a 63-bit hash).

`hashlib` is imported where something is hashed: to have imported it in a sub-interpreter, which
records nothing, ends a process of CPython 3.12 with SIGABRT.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from kvtrace.schema.errors import DamagedFile

#: Most distinct contents that are kept of a call, and most bytes of them.
SETS_A_CALL: Final = 64
BYTES_A_CALL: Final = 64 << 20
CONTENTS_LIMIT: Final = (
    f"only the first {SETS_A_CALL} distinct contents ({BYTES_A_CALL >> 20} MiB) of a call are "
    "recorded: run fewer steps"
)


class FrameLike(Protocol):
    """One frame of a call stack, as in capture and in `kvtrace.ir`."""

    @property
    def file(self) -> str | None:
        """Path of the source file."""

    @property
    def line(self) -> int | None:
        """Line, counted from 1."""

    @property
    def column(self) -> int | None:
        """Column, counted from 1."""

    @property
    def function(self) -> str | None:
        """Name of the function."""


#: A frame as an object, as a row of `stacks.frames`, or as (file, line, column, function).
AnyFrame = FrameLike | Mapping[str, Any] | tuple[str | None, int | None, int | None, str | None]

#: Name and version of what made an artifact.
Producer = tuple[str | None, str | None]
UNKNOWN: Final[Producer] = (None, None)

#: Decorators of functions that Triton compiles: a program's text leaves such kernels out.
COMPILING: Final = frozenset({"triton.jit", "jit", "gluon.jit"})
#: Part of the paths of PyTorch's own files, which its version tells.
TORCH_FILES: Final = "-packages/torch/"

#: Bytes of the largest artifact that is read: twice the largest tensor that is recorded.
MOST_BYTES: Final = 512 << 20

#: Bytes decompressed at a time, as an artifact may have less content than its row says.
_PART_BYTES: Final = 8 << 20

_FIELDS = ("file", "line", "column", "function")

#: Tables whose rows several parts of a run may have, as passes add to them, with their keys.
BY_CONTENT: Final = {"stacks": "stack_id", "artifacts": "sha256"}


def frame_row(frame: AnyFrame) -> dict[str, Any]:
    """Return a frame's file, line, column and function, as an entry of `stacks.frames`."""
    if isinstance(frame, Mapping):
        return {field: frame.get(field) for field in _FIELDS}
    if isinstance(frame, tuple) and not hasattr(frame, "file"):
        return dict(zip(_FIELDS, frame, strict=True))
    return {field: getattr(frame, field) for field in _FIELDS}


def content_hash(content: bytes | memoryview) -> str:
    """Return the SHA-256 of a content, in hexadecimal digits."""
    from hashlib import sha256

    return sha256(content).hexdigest()


def stack_id(frames: Sequence[AnyFrame]) -> int:
    """Return the 63-bit id of a call stack, innermost frame first; equal frames have equal ids.

    The id is the first 8 bytes of BLAKE2b over each frame's file, line, column and function, each
    followed by a NUL byte (null is empty), read big-endian, without the top bit.
    """
    from hashlib import blake2b

    values = [value for frame in frames for value in frame_row(frame).values()]
    text = "".join(["\0" if value is None else f"{value}\0" for value in values])
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") & (2**63 - 1)


def stack_row(frames: Sequence[AnyFrame]) -> dict[str, Any]:
    """Return the row of `stacks` for a call stack's frames, innermost first."""
    return {"stack_id": stack_id(frames), "frames": [frame_row(frame) for frame in frames]}


#: The id of a stack, and its frames, innermost first.
Stack = tuple[int | None, tuple[AnyFrame, ...]]


def stack_of(frames: Sequence[AnyFrame]) -> Stack:
    """Return a stack with its id, which is None without frames."""
    return (stack_id(frames) if frames else None), tuple(frames)


class StackRows:
    """Distinct stacks, as rows of `stacks` that other rows refer to."""

    def __init__(self) -> None:
        self._frames: dict[int, tuple[AnyFrame, ...]] = {}

    def add(self, frames: Sequence[AnyFrame]) -> int | None:
        """Add frames (innermost first) and return the stack's id, None without frames."""
        return self.add_stack(stack_of(frames))

    def add_stack(self, stack: Stack) -> int | None:
        """Add a stack, and return its id."""
        identity, frames = stack
        if identity is not None:
            self._frames.setdefault(identity, frames)
        return identity

    def add_all(self, other: "StackRows") -> None:
        """Add the stacks of other rows."""
        self._frames.update(other._frames)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `stacks`."""
        return [
            {"stack_id": identity, "frames": [frame_row(frame) for frame in frames]}
            for identity, frames in self._frames.items()
        ]


def artifact_row(
    kind: str, content: bytes, sha256: str | None = None, producer: Producer = UNKNOWN
) -> dict[str, Any]:
    """Return the row of `artifacts` for uncompressed content; `sha256` is computed unless given."""
    import pyarrow as pa  # a first launch, which only needs stack ids, does not import pyarrow

    from kvtrace.schema.vocabularies import DIALECTS

    name, version = producer
    return {
        "sha256": sha256 or content_hash(content),
        "kind": kind,
        "size_bytes": len(content),
        "bytes": pa.Codec("zstd", compression_level=3).compress(content, asbytes=True),
        "dialect": DIALECTS.get(kind),
        "producer": name,
        "producer_version": version,
    }


def artifact_content(sha256: str, size_bytes: int, compressed: bytes, source: str) -> bytes:
    """Return the decompressed content of a row of `artifacts`, checked against size and hash.

    Raises:
        DamagedFile: the content cannot be decompressed, or does not match the hash.

    """
    advice = "restore the file from a copy; kvtrace trace validate lists all damaged files"
    if not 0 <= size_bytes <= MOST_BYTES:
        raise DamagedFile(
            f"artifact {sha256[:12]} in {source} says that it has {size_bytes:,} bytes, and at "
            f"most {MOST_BYTES:,} are read; {advice}"
        )
    try:
        content = _decompressed(compressed, size_bytes + 1)
    except OSError as error:
        raise DamagedFile(
            f"artifact {sha256[:12]} in {source} cannot be decompressed; {advice}"
        ) from error
    if len(content) != size_bytes or content_hash(content) != sha256:
        raise DamagedFile(f"artifact {sha256[:12]} in {source} does not match its hash; {advice}")
    return content


def _decompressed(compressed: bytes, limit: int) -> bytes:
    """Return the first `limit` bytes of zstd content, decompressed without reserving more."""
    import pyarrow as pa

    parts = []
    with pa.input_stream(pa.py_buffer(compressed), compression="zstd") as stream:
        while limit > 0 and (part := stream.read(min(limit, _PART_BYTES))):
            parts.append(part)
            limit -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
