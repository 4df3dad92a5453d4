"""Looks at what launches made: NaNs and infinities, and digests, at every launch.

On a GPU our own kernels look (`device_code`), on the launch's stream and in its graph; on the CPU
NumPy does. The journal's thread reads what they found. The first launches that made a NaN from
none, or an infinity from finite numbers, are kept whole, so that they can be computed again.
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
from kvtrace.capture.taken import Taken, TakenForLaunches

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session

#: Tensors that a launch reads and writes are copied before it, to be kept, if they are so small.
IN_PLACE_BYTES: Final = 1 << 20

#: What is only read is digested in full if it is so small, else one line in so many of it.
WHOLE_BYTES: Final = 1 << 20
LINES: Final = 16

#: Launches that are kept at most for NaNs, and for infinities; one of a kernel.
MOST_KEPT: Final = 4

#: Launches whose answers are waited for at most.
_WAITING: Final = 50_000

#: Streams for which it is known what launches of kvtrace's kernels get.
_STREAMS: Final = 8

_LAST_SECONDS: Final = 5.0


class Held(NamedTuple):
    """What a storage held before or after the launch, and where that can be read later."""

    storage: Storage
    when: str
    piece: Piece


Part = tuple[tuple[Held, ...], Table]


class Plan:
    """What is done at launches that touch the same memory: most steps of a program repeat it."""

    __slots__ = ("after", "before", "changed", "flags", "floats", "kind", "small", "storages")

    def __init__(self, storages: Sequence[Storage], kind: str) -> None:
        """`storages` are what is touched, `kind` the device's, as torch names it."""
        self.storages = tuple(storages)
        self.kind = kind
        written = [each for each in storages if each.written]
        self.floats = [each for each in written if each.piece.dtype in FORMATS]
        self.changed = [each for each in written if each.read]
        self.small = [each for each in self.changed if each.piece.size <= IN_PLACE_BYTES]
        self.before = _parts([Held(each, "before", each.piece) for each in self.changed])
        held = [Held(each, "after", each.piece) for each in written]
        for each in storages:
            if not each.written:
                lines = LINES if each.piece.size > WHOLE_BYTES else 1
                held.append(Held(each, "before", each.piece._replace(lines=lines)))
        self.after = _parts(held)
        #: By what was put aside: parts, and whether one holds all that the launch read.
        self.flags: dict[tuple[Any, ...], list[tuple[Part, bool]]] = {}

    def looked_at(self, apart: Mapping[int, Any]) -> list[tuple[Part, bool]]:
        """Return what `finite` looks at, by launches of it."""
        key = tuple(apart.items())
        found = self.flags.get(key)
        if found is not None:
            return found
        read = [
            Held(each, "before", apart.get(each.arg, each.piece))
            for each in self.storages
            if each.read and (not each.written or each.arg in apart)
        ]
        found = []
        for begin in range(0, len(self.floats), CHECKED):
            some = self.floats[begin : begin + CHECKED]
            part = [Held(each, "after", each.piece) for each in some]
            also = read if len(self.floats) <= CHECKED and len(read) <= SPANS - CHECKED else []
            table = finite_table([each.piece for each in part], [each.piece for each in also])
            found.append((((*part, *also), table), len(also) == len(read)))
        if len(self.flags) < _STREAMS:
            self.flags[key] = found
        return found


def _parts(held: Sequence[Held]) -> list[Part]:
    """Return what is digested, by launches of `digest`."""
    parts = [tuple(held[begin : begin + SPANS]) for begin in range(0, len(held), SPANS)]
    return [(part, digest_table([each.piece for each in part])) for part in parts]


@dataclass(slots=True, kw_only=True)
class Looked(Taken):
    """A launch that is checked. `flags` and `sums` are answers, or what was found on the CPU."""

    plan: Plan
    kernel: Hashable
    stream: int
    device: DeviceKernels | None = None
    captured: bool = False
    finite: bool = True
    digest: bool = True
    apart: Mapping[int, Any] | None = None  # by arg: what was there before
    flags: list[tuple[tuple[Held, ...], Any]] = field(default_factory=list)
    sums: list[tuple[tuple[Held, ...], Any]] = field(default_factory=list)
    kept: Mapping[tuple[int, str], bytes] | None = None  # by arg and when
    #: Of a node of a graph: its flags so far, by answer, and those that are new.
    known: dict[int, int] = field(default_factory=dict)
    fresh: list[tuple[tuple[Held, ...], int]] = field(default_factory=list)

    @property
    def answers(self) -> list[Answer]:
        """What is waited for."""
        return [each for _, each in self.flags + self.sums if isinstance(each, Answer)]


class Outputs(TakenForLaunches[Looked]):
    """What one session looks at. Methods may be called from any thread, and may raise."""

    def __init__(self, session: "Session") -> None:
        """Prepare; nothing is loaded before the first launch."""
        checks = checks_of(session.settings)
        self._finite, self._digest = checks.finite, checks.digest
        self._all = max(checks.finite, checks.digest) == 1
        self._broken = False
        super().__init__(session, 0)

    def renew(self) -> None:
        """Begin again: another run begins, perhaps in a forked process."""
        super().renew()
        self._nodes: list[Looked] = []
        self._digests: list[tuple[Any, ...]] = []
        self._kernels_kept: tuple[set[Hashable], set[Hashable]] = (set(), set())
        self._reserving: set[DeviceKernels] = set()
        self._counts: dict[Hashable, int] = {}
        self._bytes = CHECK_BYTES.of(self._session.settings)

    # -- in the program's threads -----------------------------------------------------------

    def is_due(self, kernel: Hashable) -> bool:
        """Whether a kernel's next launch is to be checked; if not, it is counted."""
        if self._all or any(self._parts(kernel)):
            return True
        self._count(kernel, False, False)
        return False

    def _parts(self, kernel: Hashable) -> tuple[bool, bool]:
        """Whether a kernel's next launch is due for `finite`, and for `digest`."""
        count = self._counts.get(kernel, 0)
        finite, digest = self._finite, self._digest
        return finite > 0 and count % finite == 0, digest > 0 and count % digest == 0

    def _count(self, kernel: Hashable, finite: bool, digest: bool) -> None:
        """Count a launch, and say what it is not checked for: that is not a finding."""
        self._counts[kernel] = self._counts.get(kernel, 0) + 1
        if self._finite and not finite:
            self._say("check-sampled", _NOT_JUDGED.format(self._finite))
        if self._digest and not digest:
            self._say("check-sampled", _NOT_DIGESTED.format(self._digest))

    def before(self, plan: Plan, kernel: Hashable, stream: int) -> Looked | None:
        """Look at what a launch will change; None where it is not checked.

        `kernel` is whose launch it is, `stream` the handle of its stream.

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
        looked = Looked(0, 0, [], plan=plan, kernel=kernel, stream=stream)
        looked.finite, looked.digest = finite, digest
        if plan.kind == "cuda":
            looked.device = device_kernels()
            captured = None if looked.device is None else is_capturing(stream)
            if captured is None:
                return None
            looked.captured = captured
        if digest and not self._is_without(looked):
            self._sum(plan.before, looked)
        if finite and plan.changed:
            self._put_apart(looked)
        return looked

    def after(self, looked: Looked, number: int) -> int:
        """Look at what the launch has made; return the number that is to be in its row.

        Raises:
            CopyFailed: the device's driver refuses.

        """
        looked.number = number or self._session.next_copy()
        try:
            if looked.finite and looked.plan.floats:
                self._flag(looked)
            if looked.digest and not looked.captured:
                self._sum(looked.plan.after, looked)
        finally:
            looked.apart = None
            if looked.captured:
                self._launches[looked.number] = None
                self._nodes.append(looked)
            else:
                self._await(looked)
        return looked.number

    def drop(self, looked: Looked) -> None:
        """Forget a launch that was not made."""
        looked.number, looked.lost, looked.apart = self._session.next_copy(), True, None
        self._await(looked)

    def failed(self, error: Exception) -> None:
        """Look at nothing more."""
        self._broken = True
        self._say("check-failed", f"outputs are no longer checked: {error}")

    def _is_without(self, looked: Looked) -> bool:
        """Whether a launch has no digest since it goes into a graph, which is reported."""
        return looked.captured and self._say("check-in-graph", _IN_GRAPH)

    def _sum(self, parts: Sequence[Part], looked: Looked) -> None:
        if looked.device is None:
            from kvtrace.addons.check.recording.host_kernels import digest

            for each in (each for held, _ in parts for each in held):
                piece = each.piece
                found = digest(memory_of(piece), piece.lines, piece.address)
                looked.sums.append(((each,), (found,)))
            return
        for held, table in parts:
            answer = looked.device.sum_up(table, looked.stream)
            if answer is None:
                self._say("check-busy", _BUSY)
            else:
                looked.sums.append((held, answer))

    def _put_apart(self, looked: Looked) -> None:
        """Copy what the launch reads and changes, if it is small, and the launch could be kept."""
        plan = looked.plan
        if len(plan.storages) > SPANS or not (self._wants(0, looked) or self._wants(1, looked)):
            return
        if len(plan.small) < len(plan.changed):
            self._say("check-in-place", _IN_PLACE)
        if looked.device is None:
            looked.apart = {each.arg: memory_of(each.piece).tobytes() for each in plan.small}
        elif plan.small:
            copies = looked.device.aside([each.piece for each in plan.small], looked.stream)
            if copies is not None:
                places = zip(plan.small, copies, strict=True)
                looked.apart = {each.arg: copy for each, copy in places}

    def _flag(self, looked: Looked) -> None:
        device = looked.device
        if device is None:
            self._flag_here(looked, looked.plan.floats)
            return
        if device not in self._reserving:
            self._reserving.add(device)
            device.reserve()
        wants = (self._wants(0, looked), self._wants(1, looked))
        for (held, table), whole in looked.plan.looked_at(looked.apart or {}):
            keep = wants if whole else (False, False)
            answer = device.look(table, looked.stream, looked.captured, keep)
            if answer is None:
                self._say("check-busy", _BUSY)
            else:
                looked.flags.append((held, answer))

    def _flag_here(self, looked: Looked, floats: Sequence[Storage]) -> None:
        """Do on the CPU what the kernel `finite` does."""
        from kvtrace.addons.check.recording.host_kernels import flags

        found = [flags(memory_of(each.piece), str(each.piece.dtype)) for each in floats]
        held = tuple(Held(each, "after", each.piece) for each in floats)
        word = sum(bits << 2 * place for place, bits in enumerate(found))
        looked.flags.append((held, word))
        if not word:
            return
        kind = 0 if any(bits & NAN for bits in found) else 1
        if not self._wants(kind, looked):
            return
        read: dict[int, bytes] = dict(looked.apart or {})
        for each in looked.plan.storages:
            if each.read and not each.written:
                read[each.arg] = memory_of(each.piece).tobytes()
        stopping = NAN if kind == 0 else NAN | INFINITE
        if not any(_flags_of(each, read.get(each.arg)) & stopping for each in looked.plan.storages):
            self._kernels_kept[kind].add(looked.kernel)
            after = {(each.arg, "after"): memory_of(each.piece).tobytes() for each in floats}
            looked.kept = {(arg, "before"): content for arg, content in read.items()} | after

    def _wants(self, kind: int, looked: Looked) -> bool:
        """Whether such a launch of the kernel would be kept: there is room, and none is yet."""
        kept = self._kernels_kept[kind]
        return len(kept) < MOST_KEPT and looked.kernel not in kept

    def _say(self, code: str, text: str) -> bool:
        self._session.message("info", code, text)
        return True

    # -- in the journal's thread ------------------------------------------------------------

    def round(self, journal: "Journal") -> None:
        """Write what has been found."""
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
        """Wait for answers that are still to come, for a while, and write them."""
        until = time.monotonic() + _LAST_SECONDS
        while self._waiting:
            self.round(journal)
            left = any(not answer.done for each in self._waiting for answer in each.answers)
            if not left or time.monotonic() > until:
                break
            time.sleep(0.001)
        self.round(journal)
        self._end(journal)

    def _has_arrived(self, taken: Looked) -> bool:
        device = taken.device
        if device is None:
            return True
        if not all(answer.done for answer in taken.answers):
            if not any(device.is_lost(answer) for answer in taken.answers):
                return False
            taken.flags, taken.sums, taken.lost = [], [], True
            return True
        taken.device = None  # it is asked no more
        for at, (held, answer) in enumerate(taken.flags):
            word = answer.flags
            if word >= KEPT[0]:
                self._take_reserve(taken, device, held, answer, word)
            taken.flags[at] = (held, word)
            device.release(answer)
        for at, (held, answer) in enumerate(taken.sums):
            taken.sums[at] = (held, answer.sums)
            device.release(answer)
        return True

    def _replayed(self, node: Looked) -> bool:
        """Look at what a node of a graph has found in the replays so far; whether that is new."""
        node.fresh = []
        for number, (held, answer) in enumerate(node.flags):
            word, known = answer.flags if answer.done else 0, node.known.get(number, 0)
            if word == known:
                continue
            node.known[number] = word
            node.fresh.append((held, word & ~known))
            assert node.device is not None
            self._take_reserve(node, node.device, held, answer, word & ~known)
        return bool(node.fresh)

    def _write(self, journal: "Journal", taken: Looked, seq: int, call_id: int) -> None:
        launch = {"seq": seq, "call_id": call_id}
        for held, word in taken.fresh if taken.captured else taken.flags:
            if not word:
                continue
            for place, each in enumerate(held):
                bits = word >> 2 * place & 3
                if each.when == "after" and bits:
                    row = launch | each.storage.row("after") | _booleans(bits)
                    journal.add("non_finite", row)
        if taken.kept is not None:
            self._keep(journal, taken, taken.kept, launch)
            taken.kept = None
        for held, sums in taken.sums:
            self._digests += [
                (seq, call_id, each.storage.arg, each.when, number, each.piece.lines)
                for each, number in zip(held, sums, strict=True)
            ]

    def _take_reserve(
        self, taken: Looked, device: DeviceKernels, held: Sequence[Held], answer: Answer, fresh: int
    ) -> None:
        """Read what the device kept of a launch, and let it keep another one."""
        for kind, bit in enumerate(KEPT):
            if not fresh & bit or not device.holds(kind, answer):
                continue
            base, found = device.reserves[kind].address, {}
            for each, place in zip(held, answer.places, strict=True):
                begin = base + place + each.piece.address % VECTOR
                content = ctypes.string_at(begin, each.piece.size)
                found[each.storage.arg, each.when] = content
            if self._wants(kind, taken):
                self._kernels_kept[kind].add(taken.kernel)
                taken.kept = found
            device.free(kind)

    def _keep(
        self,
        journal: "Journal",
        taken: Looked,
        kept: Mapping[tuple[int, str], bytes],
        launch: dict[str, Any],
    ) -> None:
        size = sum(map(len, kept.values()))
        if size > self._bytes:
            self._say("check-over-budget", _OVER_BUDGET)
            return
        self._bytes -= size
        row = launch | {"why": "finite", "programs": None, "bytes": size}
        journal.add("checked_launches", row)
        storages = {storage.arg: storage for storage in taken.plan.storages}
        for (arg, when), content in sorted(kept.items()):
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


__all__ = ["Looked", "Outputs", "Plan"]
