"""Records of the page on a run's memory: bytes in use, who holds the peak, and lives of storages.

Times are in ns since the page's origin, sizes in bytes. Times and sizes were recorded while the
program ran; what a call does to a storage is derived from its IR or the operator's schema.
"""

from dataclasses import dataclass

from kvtrace.addons.memory.peak_profile import Holder


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes in use on a device, derived from allocations and uses."""

    device: int
    times: tuple[int, ...]
    bytes: tuple[int, ...]
    """From each time on; at least, where frees were not recorded."""
    bin_ns: int | None
    """If there were too many changes: each value is the most of so long a time."""
    peak: int
    peak_at: int
    when: str
    """The launch, mark and step at the peak, as in a profile."""
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class StorageUse:
    """What launches of a call, or calls of an operator, do to a storage.

    `reads` and `writes` are bytes at the first launch; None: perhaps some, for `reason`.
    """

    call: int | None
    """Index into `Report.calls`; None for an operator."""
    by: str
    """The kernel's name, or the operator's with a place."""
    tensor: str | None
    count: int
    first: int
    last: int
    reads: int | None
    writes: int | None
    size: int
    """Bytes of the storage as the call has it; its allocator's block may be larger."""
    unwritten: int
    """Bytes that it reads and nobody wrote before; 0 where the storage has no finding."""
    moves: bool
    """Whether values are only moved elsewhere, which is no use of them."""
    reason: str


@dataclass(frozen=True, slots=True)
class StorageLife:
    """A storage from its allocation on."""

    made: str
    is_seen: bool
    """Whether the allocation was recorded; if not, `begin` is the first use."""
    device: int
    bytes: int
    alike: int
    """Number of storages of the run with this size, made at this place."""
    at_peak: bool
    begin: int
    last_use: int
    end: int | None
    """When it was freed, if that was recorded."""
    replaced: bool
    """Whether its memory was another storage's later."""
    uses: tuple[StorageUse, ...]
    """In the order of `first`."""
    uses_left_out: int
    """Number of uses between the first and the last ones that are not shown."""
    findings: tuple[str, ...]
    """Ids of findings on it."""


@dataclass(frozen=True, slots=True)
class RunStorages:
    """The memory of a run."""

    run: int
    frees_recorded: bool
    devices: tuple[DeviceMemory, ...]
    storages: tuple[StorageLife, ...]
    """The largest first."""
    count: int
    """Number of all storages."""
    kinds: int
    """Number of all kinds, of one size and place each."""
    largest_left_out: int
    """Bytes of the largest storage of a kind that is not shown; 0 if all kinds are."""
