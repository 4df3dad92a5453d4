"""CUPTI's records of kernels, copies and fills, read as columns.

The fields that are read lie at the same offsets in `CUpti_ActivityKernel9` (CUDA 12.0 to 12.9) and
in `CUpti_ActivityKernel10` to `13` (CUDA 13.0 to 13.5), which differ in length; so do those of
`CUpti_ActivityMemcpy5` to `7` and `CUpti_ActivityMemset4` and `5`: measured with `offsetof` and
`sizeof` on the headers of those releases. All structures are packed to 8 bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL` (kernels are recorded and still run side by side),
#: `CUPTI_ACTIVITY_KIND_MEMCPY` and `CUPTI_ACTIVITY_KIND_MEMSET`.
CONCURRENT_KERNEL: Final = 10
COPY: Final = 1
FILL: Final = 2
KINDS: Final = (CONCURRENT_KERNEL, COPY, FILL)

#: First CUPTI API version of each length of a record, in bytes.
_KERNELS: Final = ((18, 208), (130000, 216), (130100, 224), (130300, 232), (130400, 248))
_COPYING: Final = ((18, 88), (26, 96), (130400, 112))
_FILLING: Final = ((18, 88), (130400, 104))
_NEWEST: Final = 130600
_FIELDS: Final = {
    "registers": (6, "<u2"),
    "start": (16, "<u8"),
    "end": (24, "<u8"),
    "device": (40, "<u4"),
    "stream": (48, "<u4"),
    "grid_x": (52, "<i4"),
    "grid_y": (56, "<i4"),
    "grid_z": (60, "<i4"),
    "static_shared": (76, "<i4"),
    "dynamic_shared": (80, "<i4"),
    "correlation": (92, "<u4"),
    "name": (104, "<u8"),
    "graph_node": (144, "<u8"),
    "graph": (156, "<u4"),
}

_COMMON: Final = np.dtype(
    {
        "names": ["kind", "how", "bytes", "start", "end", "device", "stream", "correlation",
                  "graph_node", "graph"],
        "formats": ["<u4", "<u1", "<u8", "<u8", "<u8", "<u4", "<u4", "<u4", "<u8", "<u4"],
        "offsets": [0, 4, 8, 16, 24, 32, 40, 44, 64, 72],
        "itemsize": 80,
    }
)  # fmt: skip

#: Names of copies by `CUpti_ActivityMemcpyKind`.
_COPIES: Final = {
    1: "memcpy host to device",
    2: "memcpy device to host",
    8: "memcpy device to device",
    9: "memcpy host to host",
    10: "memcpy peer to peer",
}


def layout(length: int) -> np.dtype[Any]:
    """Return the NumPy type of a kernel record of `length` bytes."""
    return np.dtype(
        {
            "names": list(_FIELDS),
            "formats": [kind for _, kind in _FIELDS.values()],
            "offsets": [offset for offset, _ in _FIELDS.values()],
            "itemsize": length,
        }
    )


@dataclass(frozen=True)
class Executions:
    """Executions on devices, as arrays of equal length.

    Times are nanoseconds of CUPTI's clock, 0 if unknown. `graph` is 0 outside graphs.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    device: NDArray[np.int64]
    stream: NDArray[np.int64]
    correlation: NDArray[np.int64]
    graph: NDArray[np.int64]
    graph_node: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Kernels(Executions):
    """Executions of kernels; `look` is a code for name and grid (`Looks`)."""

    grid: NDArray[np.int64]
    registers: NDArray[np.int64]
    shared_bytes: NDArray[np.int64]
    look: NDArray[np.int64]

    def chosen(self, rows: NDArray[Any] | slice) -> "Kernels":
        """Return the executions at the given indices, mask or slice."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_ and rows.all():
            return self
        return Kernels(**{name: column[rows] for name, column in vars(self).items()})


def joined(parts: "list[Kernels]") -> Kernels:
    """Return the executions of all parts, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    return Kernels(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    )


class Looks:
    """Codes, from 0 on, for distinct pairs of a device function's name and a grid."""

    def __init__(self) -> None:
        self.known: list[tuple[str, tuple[int, int, int]]] = []
        self._numbers: dict[tuple[str, tuple[int, int, int]], int] = {}

    def number(self, name: str, grid: tuple[int, int, int]) -> int:
        """Return the code of a name and a grid; a new pair gets the next code."""
        key = (name, grid)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.known)
            self.known.append(key)
        return number


def read_kernels(
    content: bytes, length: int, name_at: Callable[[int], str], looks: Looks
) -> Kernels:
    """Return kernel records, each of `length` bytes, as columns.

    `name_at` returns the name at a record's address; new pairs of name and grid are added to
    `looks`.
    """
    records = np.frombuffer(content, layout(length))
    grid = np.stack([records[axis] for axis in ("grid_x", "grid_y", "grid_z")], axis=1)
    example_rows, pair_of_row = _distinct(records["name"], grid)
    names: dict[int, str] = {}
    numbers = []
    for row in example_rows.tolist():
        address = int(records["name"][row])
        if address not in names:
            names[address] = name_at(address) if address else ""
        x, y, z = grid[row].tolist()
        numbers.append(looks.number(names[address], (x, y, z)))

    def column(name: str) -> NDArray[np.int64]:
        return records[name].astype(np.int64)

    return Kernels(
        start=column("start"),
        end=column("end"),
        device=column("device"),
        stream=column("stream"),
        correlation=column("correlation"),
        graph=column("graph"),
        graph_node=column("graph_node"),
        grid=grid.astype(np.int64),
        registers=column("registers"),
        shared_bytes=column("static_shared") + column("dynamic_shared"),
        look=np.asarray(numbers, np.int64)[pair_of_row],
    )


@dataclass(frozen=True)
class Transfers(Executions):
    """Copies and fills of memory; `fill` is the mask of fills, `names` as in `gpu_kernels`."""

    names: list[str]
    fill: NDArray[np.bool_]
    bytes: NDArray[np.int64]

    def chosen(self, rows: NDArray[np.bool_]) -> "Transfers":
        """Return the executions of the mask."""
        if rows.all():
            return self
        columns = {name: column[rows] for name, column in vars(self).items() if name != "names"}
        return Transfers(names=list(compress(self.names, rows)), **columns)


def read_transfers(content: bytes) -> Transfers:
    """Return records of copies and fills as columns; of each, the first 80 bytes are passed."""
    records = np.frombuffer(content, _COMMON)
    fill = records["kind"] == FILL
    names = [
        "memset" if filled else _COPIES.get(how, "memcpy")
        for filled, how in zip(fill.tolist(), records["how"].tolist(), strict=True)
    ]
    columns = {
        name: records[name].astype(np.int64)
        for name in _COMMON.names or ()
        if name not in ("kind", "how")
    }
    return Transfers(names=names, fill=fill, **columns)


#: Odd constants that spread names and grids over 64 bits.
_SPREAD: Final = np.asarray([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def _distinct(
    names: NDArray[np.uint64], grid: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an example row of each distinct (name, grid), and for each row the pair's index."""
    key = names * np.uint64(0xD6E8FEB86659FD93)
    for axis, factor in enumerate(_SPREAD):
        key = (key ^ (key >> np.uint64(29))) + grid[:, axis].astype(np.uint64) * factor
    _, examples, pairs = np.unique(key, return_index=True, return_inverse=True)
    is_equal = (names == names[examples][pairs]) & (grid == grid[examples][pairs]).all(axis=1)
    if not is_equal.all():  # two pairs have the same hash
        rows = np.column_stack([names.astype(np.int64), grid])
        _, examples, pairs = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return examples, pairs.reshape(-1)


def record_lengths(version: int) -> tuple[int, int, int] | None:
    """Return the bytes of a kernel's, copy's and fill's record in an API version, or None."""
    if not _KERNELS[0][0] <= version < _NEWEST:
        return None
    kernel, copy, fill = (
        [length for first, length in lengths if version >= first][-1]
        for lengths in (_KERNELS, _COPYING, _FILLING)
    )
    return kernel, copy, fill
