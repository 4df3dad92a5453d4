"""Examination of launches' outputs: NaNs and infinities, and digests, at every launch.

On a GPU our own kernels (`device_code`) run on the launch's stream and in its graph; on the CPU
NumPy does the same. The journal's thread reads the answers. The first launches that made a NaN from
none, or an infinity from finite numbers, are recorded completely, so that they can be evaluated.
"""

import ctypes
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kvtrace.addons.check.recording.device_answers import Answer
from kvtrace.addons.check.recording.device_code import (
    CHECKED,
    FORMATS,
    INFINITE,
    KEPT,
    NAN,
    SPANS,
    VECTOR,
)
from kvtrace.addons.check.recording.device_kernels import (
    DeviceKernels,
    Piece,
    Table,
    device_kernels,
    digest_table,
    finite_table,
    is_capturing,
)
from kvtrace.addons.check.recording.touched import Storage, memory_of
from kvtrace.addons.check.settings import CHECK_BYTES, checks_of
from kvtrace.capture.launch_copies import LaunchCopier, LaunchCopies

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Largest tensor, read and written by a launch, that is copied before the launch.
IN_PLACE_BYTES: Final = 1 << 20

#: Largest input that is digested in full; of larger ones, one line in `LINES` is digested.
WHOLE_BYTES: Final = 1 << 20
LINES: Final = 16

#: Most recorded launches for NaNs, and for infinities; one per kernel.
MOST_KEPT: Final = 4

#: Most launches with pending answers.
_WAITING: Final = 50_000

#: Most cached tables of a plan, one per stream.
_STREAMS: Final = 8

_LAST_SECONDS: Final = 5.0


class StorageMoment(NamedTuple):
    """A storage before or after the launch, and the memory to read its contents from."""

    storage: Storage
    when: str
    piece: Piece


Part = tuple[tuple[StorageMoment, ...], Table]
"""Storages examined by one launch of kvtrace's kernel, and their table."""


class Plan:
    """Examination of launches that touch the same memory; most steps of a program repeat a plan."""

    __slots__ = ("after", "before", "changed", "flags", "floats", "kind", "small", "storages")

    def __init__(self, storages: Sequence[Storage], kind: str) -> None:
        """Create the plan of touched storages; `kind` is the device type in torch's naming."""
        self.storages = tuple(storages)
        self.kind = kind
        written = [storage for storage in storages if storage.written]
        self.floats = [storage for storage in written if storage.piece.dtype in FORMATS]
        self.changed = [storage for storage in written if storage.read]
        self.small = [s for s in self.changed if s.piece.size <= IN_PLACE_BYTES]
        self.before = _parts([StorageMoment(s, "before", s.piece) for s in self.changed])
        moments = [StorageMoment(storage, "after", storage.piece) for storage in written]
        for storage in storages:
            if not storage.written:
                lines = LINES if storage.piece.size > WHOLE_BYTES else 1
                piece = storage.piece._replace(lines=lines)
                moments.append(StorageMoment(storage, "before", piece))
        self.after = _parts(moments)
        #: By copies put aside: parts, and whether a part has all inputs of the launch.
        self.flags: dict[tuple[Any, ...], list[tuple[Part, bool]]] = {}

    def looked_at(self, apart: Mapping[int, Any]) -> list[tuple[Part, bool]]:
        """Return the storages that `finite` examines, by launches of the kernel `finite`."""
        key = tuple(apart.items())
        cached = self.flags.get(key)
        if cached is not None:
            return cached
        read = [
            StorageMoment(storage, "before", apart.get(storage.arg, storage.piece))
            for storage in self.storages
            if storage.read and (not storage.written or storage.arg in apart)
        ]
        parts: list[tuple[Part, bool]] = []
        for begin in range(0, len(self.floats), CHECKED):
            chosen = self.floats[begin : begin + CHECKED]
            outputs = [StorageMoment(storage, "after", storage.piece) for storage in chosen]
            inputs = read if len(self.floats) <= CHECKED and len(read) <= SPANS - CHECKED else []
            table = finite_table([m.piece for m in outputs], [m.piece for m in inputs])
            parts.append((((*outputs, *inputs), table), len(inputs) == len(read)))
        if len(self.flags) < _STREAMS:
            self.flags[key] = parts
        return parts


def _parts(held: Sequence[StorageMoment]) -> list[Part]:
    """Return what is digested, by launches of `digest`."""
    parts = [tuple(held[begin : begin + SPANS]) for begin in range(0, len(held), SPANS)]
    return [(part, digest_table([each.piece for each in part])) for part in parts]


@dataclass(slots=True, kw_only=True)
class ExaminedLaunch(LaunchCopies):
    """An examined launch. `flags` and `sums` are answers, or results on the CPU."""

    plan: Plan
    kernel: Hashable
    stream: int
    device: DeviceKernels | None = None
    captured: bool = False
    finite: bool = True
    digest: bool = True
    apart: Mapping[int, Any] | None = None  # by arg: copies from before the launch
    flags: list[tuple[tuple[StorageMoment, ...], Any]] = field(default_factory=list)
    sums: list[tuple[tuple[StorageMoment, ...], Any]] = field(default_factory=list)
    kept: Mapping[tuple[int, str], bytes] | None = None  # by arg and when
    #: For a node of a graph: its flags so far, by answer, and the new ones.
    known: dict[int, int] = field(default_factory=dict)
    fresh: list[tuple[tuple[StorageMoment, ...], int]] = field(default_factory=list)

    @property
    def answers(self) -> list[Answer]:
        """The pending answers."""
        return [answer for _, answer in self.flags + self.sums if isinstance(answer, Answer)]


class Outputs(LaunchCopier[ExaminedLaunch]):
    """Examination of one session's launches. Methods may be called from any thread, and raise."""

    def __init__(self, session: "Session") -> None:
        """Prepare; nothing is loaded before the first launch."""
        checks = checks_of(session.settings)
        self._finite, self._digest = checks.finite, checks.digest
        self._all = max(checks.finite, checks.digest) == 1
        self._broken = False
        super().__init__(session, 0)

    def renew(self) -> None:
        """Reset for a new run, perhaps in a forked process."""
        super().renew()
        self._nodes: list[ExaminedLaunch] = []
        self._digests: list[tuple[Any, ...]] = []
        self._kernels_kept: tuple[set[Hashable], set[Hashable]] = (set(), set())
        self._reserving: set[DeviceKernels] = set()
        self._counts: dict[Hashable, int] = {}
        self._bytes = CHECK_BYTES.of(self._session.settings)

    # -- in the program's threads -----------------------------------------------------------

    def is_due(self, kernel: Hashable) -> bool:
        """Return whether a kernel's next launch is examined; if not, count the launch."""
        if self._all or any(self._parts(kernel)):
            return True
        self._count(kernel, False, False)
        return False

    def _parts(self, kernel: Hashable) -> tuple[bool, bool]:
        """Return whether a kernel's next launch is due for `finite`, and for `digest`."""
        count = self._counts.get(kernel, 0)
        finite, digest = self._finite, self._digest
        return finite > 0 and count % finite == 0, digest > 0 and count % digest == 0

    def _count(self, kernel: Hashable, finite: bool, digest: bool) -> None:
        """Count a launch, and report examinations skipped by sampling."""
        self._counts[kernel] = self._counts.get(kernel, 0) + 1
        if self._finite and not finite:
            self._say("check-sampled", _NOT_JUDGED.format(self._finite))
        if self._digest and not digest:
            self._say("check-sampled", _NOT_DIGESTED.format(self._digest))

    def before(self, plan: Plan, kernel: Hashable, stream: int) -> ExaminedLaunch | None:
        """Examine memory that a launch will change; None if the launch is not examined.

        `kernel` identifies the kernel; `stream` is the handle of the launch's stream.

        Raises:
            CopyFailed: the device's driver refuses.
        """
        finite, digest = self._parts(kernel)
        if not self._all:
            self._count(kernel, finite, digest)
        if not plan.storages or plan.kind not in ("cpu", "cuda") or self._broken:
            return None
        if len(self._waiting) >= _WAITING:
            self._say("check-busy", _BUSY)
            return None
        examined = ExaminedLaunch(0, 0, [], plan=plan, kernel=kernel, stream=stream)
        examined.finite, examined.digest = finite, digest
        if plan.kind == "cuda":
            examined.device = device_kernels()
            captured = None if examined.device is None else is_capturing(stream)
            if captured is None:
                return None
            examined.captured = captured
        if digest and not self._is_without(examined):
            self._sum(plan.before, examined)
        if finite and plan.changed:
            self._copy_aside(examined)
        return examined

    def after(self, examined: ExaminedLaunch, number: int) -> int:
        """Examine the launch's outputs, and return the number for the launch's row.

        Raises:
            CopyFailed: the device's driver refuses.
        """
        examined.number = number or self._session.next_copy()
        try:
            if examined.finite and examined.plan.floats:
                self._flag(examined)
            if examined.digest and not examined.captured:
                self._sum(examined.plan.after, examined)
        finally:
            examined.apart = None
            if examined.captured:
                self._launches[examined.number] = None
                self._nodes.append(examined)
            else:
                self._await(examined)
        return examined.number

    def drop(self, examined: ExaminedLaunch) -> None:
        """Forget a launch that was not made."""
        examined.number, examined.lost, examined.apart = self._session.next_copy(), True, None
        self._await(examined)

    def failed(self, error: Exception) -> None:
        """Disable all examinations."""
        self._broken = True
        self._say("check-failed", f"outputs are no longer checked: {error}")

    def _is_without(self, examined: ExaminedLaunch) -> bool:
        """Return whether a launch has no digest since it is captured; reports this."""
        return examined.captured and self._say("check-in-graph", _IN_GRAPH)

    def _sum(self, parts: Sequence[Part], examined: ExaminedLaunch) -> None:
        if examined.device is None:
            from kvtrace.addons.check.recording.host_kernels import digest

            for moment in (moment for moments, _ in parts for moment in moments):
                piece = moment.piece
                value = digest(memory_of(piece), piece.lines, piece.address)
                examined.sums.append(((moment,), (value,)))
            return
        for moments, table in parts:
            answer = examined.device.sum_up(table, examined.stream)
            if answer is None:
                self._say("check-busy", _BUSY)
            else:
                examined.sums.append((moments, answer))

    def _copy_aside(self, examined: ExaminedLaunch) -> None:
        """Copy small tensors that the launch reads and changes, if the launch may be recorded."""
        plan = examined.plan
        if len(plan.storages) > SPANS or not (self._wants(0, examined) or self._wants(1, examined)):
            return
        if len(plan.small) < len(plan.changed):
            self._say("check-in-place", _IN_PLACE)
        if examined.device is None:
            examined.apart = {s.arg: memory_of(s.piece).tobytes() for s in plan.small}
        elif plan.small:
            copies = examined.device.aside([s.piece for s in plan.small], examined.stream)
            if copies is not None:
                pairs = zip(plan.small, copies, strict=True)
                examined.apart = {storage.arg: copy for storage, copy in pairs}

    def _flag(self, examined: ExaminedLaunch) -> None:
        device = examined.device
        if device is None:
            self._flag_here(examined, examined.plan.floats)
            return
        if device not in self._reserving:
            self._reserving.add(device)
            device.reserve()
        wants = (self._wants(0, examined), self._wants(1, examined))
        for (moments, table), is_whole in examined.plan.looked_at(examined.apart or {}):
            keep = wants if is_whole else (False, False)
            answer = device.look(table, examined.stream, examined.captured, keep)
            if answer is None:
                self._say("check-busy", _BUSY)
            else:
                examined.flags.append((moments, answer))

    def _flag_here(self, examined: ExaminedLaunch, floats: Sequence[Storage]) -> None:
        """Do the same as the kernel `finite`, on the CPU."""
        from kvtrace.addons.check.recording.host_kernels import flags

        bits_of_storages = [
            flags(memory_of(storage.piece), str(storage.piece.dtype)) for storage in floats
        ]
        moments = tuple(StorageMoment(storage, "after", storage.piece) for storage in floats)
        word = sum(bits << 2 * place for place, bits in enumerate(bits_of_storages))
        examined.flags.append((moments, word))
        if not word:
            return
        kind = 0 if any(bits & NAN for bits in bits_of_storages) else 1
        if not self._wants(kind, examined):
            return
        read: dict[int, bytes] = dict(examined.apart or {})
        for storage in examined.plan.storages:
            if storage.read and not storage.written:
                read[storage.arg] = memory_of(storage.piece).tobytes()
        stopping = NAN if kind == 0 else NAN | INFINITE
        if not any(
            _flags_of(storage, read.get(storage.arg)) & stopping
            for storage in examined.plan.storages
        ):
            self._kernels_kept[kind].add(examined.kernel)
            after = {
                (storage.arg, "after"): memory_of(storage.piece).tobytes() for storage in floats
            }
            examined.kept = {(arg, "before"): content for arg, content in read.items()} | after

    def _wants(self, kind: int, examined: ExaminedLaunch) -> bool:
        """Return whether a launch of the kernel would be recorded: room is left, none is stored."""
        kernels = self._kernels_kept[kind]
        return len(kernels) < MOST_KEPT and examined.kernel not in kernels

    def _say(self, code: str, text: str) -> bool:
        self._session.message("info", code, text)
        return True

    # -- in the journal's thread ------------------------------------------------------------

    def round(self, journal: "Journal") -> None:
        """Write the answers that have arrived."""
        super().round(journal)
        for node in self._nodes:
            launch = self._launches.get(node.number)
            if launch is not None and self._replayed(node):
                self._write(journal, node, *launch)
        if self._digests:
            seq, call, arg, when, digest, lines = zip(*self._digests, strict=True)
            self._digests = []
            signed = [number - (number >> 63 << 64) for number in digest]
            columns = {"seq": seq, "call_id": call, "arg": arg, "when": when}
            journal.append("digests", columns | {"digest": signed, "lines": lines})

    def finish(self, journal: "Journal") -> None:
        """Wait a while for pending answers, and write them."""
        until = time.monotonic() + _LAST_SECONDS
        while self._waiting:
            self.round(journal)
            has_pending = any(
                not answer.done for launch in self._waiting for answer in launch.answers
            )
            if not has_pending or time.monotonic() > until:
                break
            time.sleep(0.001)
        self.round(journal)
        self._end(journal)

    def _has_arrived(self, examined: ExaminedLaunch) -> bool:
        device = examined.device
        if device is None:
            return True
        if not all(answer.done for answer in examined.answers):
            if not any(device.is_lost(answer) for answer in examined.answers):
                return False
            examined.flags, examined.sums, examined.lost = [], [], True
            return True
        examined.device = None  # it is asked no more
        for at, (moments, answer) in enumerate(examined.flags):
            word = answer.flags
            if word >= KEPT[0]:
                self._take_reserve(examined, device, moments, answer, word)
            examined.flags[at] = (moments, word)
            device.release(answer)
        for at, (moments, answer) in enumerate(examined.sums):
            examined.sums[at] = (moments, answer.sums)
            device.release(answer)
        return True

    def _replayed(self, node: ExaminedLaunch) -> bool:
        """Read the flags of a graph's node after replays, and return whether some are new."""
        node.fresh = []
        for number, (moments, answer) in enumerate(node.flags):
            word, flags_before = answer.flags if answer.done else 0, node.known.get(number, 0)
            if word == flags_before:
                continue
            node.known[number] = word
            node.fresh.append((moments, word & ~flags_before))
            assert node.device is not None
            self._take_reserve(node, node.device, moments, answer, word & ~flags_before)
        return bool(node.fresh)

    def _write(self, journal: "Journal", examined: ExaminedLaunch, seq: int, call_id: int) -> None:
        launch = {"seq": seq, "call_id": call_id}
        for moments, word in examined.fresh if examined.captured else examined.flags:
            if not word:
                continue
            for place, each in enumerate(moments):
                bits = word >> 2 * place & 3
                if each.when == "after" and bits:
                    row = launch | each.storage.row("after") | _booleans(bits)
                    journal.add("non_finite", row)
        if examined.kept is not None:
            self._keep(journal, examined, examined.kept, launch)
            examined.kept = None
        for moments, sums in examined.sums:
            self._digests += [
                (seq, call_id, each.storage.arg, each.when, number, each.piece.lines)
                for each, number in zip(moments, sums, strict=True)
            ]

    def _take_reserve(
        self,
        examined: ExaminedLaunch,
        device: DeviceKernels,
        moments: Sequence[StorageMoment],
        answer: Answer,
        fresh: int,
    ) -> None:
        """Read memory that the device stored for a launch, and free the reserve."""
        for kind, bit in enumerate(KEPT):
            if not fresh & bit or not device.holds(kind, answer):
                continue
            base, contents = device.reserves[kind].address, {}
            for moment, offset in zip(moments, answer.places, strict=True):
                begin = base + offset + moment.piece.address % VECTOR
                content = ctypes.string_at(begin, moment.piece.size)
                contents[moment.storage.arg, moment.when] = content
            if self._wants(kind, examined):
                self._kernels_kept[kind].add(examined.kernel)
                examined.kept = contents
            device.free(kind)

    def _keep(
        self,
        journal: "Journal",
        examined: ExaminedLaunch,
        contents: Mapping[tuple[int, str], bytes],
        launch: dict[str, Any],
    ) -> None:
        size = sum(map(len, contents.values()))
        if size > self._bytes:
            self._say("check-over-budget", _OVER_BUDGET)
            return
        self._bytes -= size
        row = launch | {"why": "finite", "programs": None, "bytes": size}
        journal.add("checked_launches", row)
        storages = {storage.arg: storage for storage in examined.plan.storages}
        for (arg, when), content in sorted(contents.items()):
            storage = storages[arg]
            offset = storage.piece.address - storage.base
            spans = [{"offset_bytes": offset, "size_bytes": len(content)}]
            row = launch | storage.row(when) | {"spans": spans}
            row["artifact"] = journal.add_artifact("tensor", content)
            journal.add("checked_memory", row)
            bits = _flags_of(storage, content) if when == "before" else 0
            if bits:
                journal.add("non_finite", launch | storage.row(when) | _booleans(bits))


_BUSY: Final = "launches are not checked while too many others wait for answers"
_NOT_JUDGED: Final = (
    "launches are not checked for new NaNs and infinities: one in {} of each kernel is"
)
_NOT_DIGESTED: Final = "launches have no digests: one in {} of each kernel has some"
_IN_PLACE: Final = (
    f"tensors of more than {IN_PLACE_BYTES >> 20} MiB that a kernel both reads and writes are not "
    "kept as they were before it, should it make a NaN"
)
_IN_GRAPH: Final = (
    "launches that go into a graph have no digests: one answer would be for all replays"
)
_OVER_BUDGET: Final = (
    "a launch that made a NaN or an infinity is not kept: it read more than is left of "
    "KVTRACE_CHECK_BYTES"
)


def _flags_of(storage: Storage, content: bytes | None) -> int:
    if content is None or storage.piece.dtype not in FORMATS:
        return 0
    import numpy as np

    from kvtrace.addons.check.recording.host_kernels import flags

    return flags(np.frombuffer(content, np.uint8), str(storage.piece.dtype))


def _booleans(bits: int) -> dict[str, bool]:
    return {"nan": bool(bits & NAN), "infinity": bool(bits & INFINITE)}


__all__ = ["ExaminedLaunch", "Outputs", "Plan"]
