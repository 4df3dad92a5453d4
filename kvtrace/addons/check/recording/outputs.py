"""Examination of launches' outputs: NaNs and infinities, and digests, at every launch.

On a GPU our own kernels (`device_code`) run on the launch's stream and in its graph; on the CPU
NumPy does the same. The journal's thread reads the answers. The first launches whose outputs have a
NaN though no input has one, or an infinity though all inputs are finite, are recorded completely,
so that they can be evaluated.
"""

import ctypes
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.check.recording.device_answers import Answer
from kvtrace.addons.check.recording.device_code import (
    FORMATS,
    INFINITE,
    KEPT,
    NAN,
    SPANS,
    VECTOR,
)
from kvtrace.addons.check.recording.device_kernels import (
    DeviceKernels,
    device_kernels,
    is_capturing,
)
from kvtrace.addons.check.recording.plans import (
    IN_PLACE_BYTES,
    Part,
    Plan,
    Storage,
    StorageMoment,
    memory_of,
)
from kvtrace.addons.check.settings import CHECK_BYTES, checks_of
from kvtrace.capture.launch_copies import LaunchCopier, LaunchCopies
from kvtrace.surroundings import pause

if TYPE_CHECKING:
    from kvtrace.capture.journal import Journal
    from kvtrace.capture.session import Session


#: Most recorded launches for NaNs, and for infinities; one per kernel.
MOST_KEPT: Final = 4

#: Most launches with pending answers.
_WAITING: Final = 50_000


_LAST_SECONDS: Final = 5.0


@dataclass(slots=True, kw_only=True)
class ExaminedLaunch(LaunchCopies):
    """An examined launch.

    `flags` and `sums` are pairs of storages and pending answers; the flags or digests once known.
    """

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
    """Examiner of one session's launches. Methods may be called from any thread.

    They raise CopyFailed if the device's driver refuses a call.
    """

    def __init__(self, session: "Session") -> None:
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
        self._unjudged = self._undigested = 0  # launches, since the last round
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
        """Count a launch of a kernel, and the examinations that sampling skips, for `round`.

        `finite` and `digest`: the launch gets these examinations.
        """
        self._counts[kernel] = self._counts.get(kernel, 0) + 1
        if self._finite and not finite:
            self._unjudged += 1
        if self._digest and not digest:
            self._undigested += 1

    def before(self, plan: Plan, kernel: Hashable, stream: int) -> ExaminedLaunch | None:
        """Digest and copy memory that a launch will change; None if the launch is not examined.

        `kernel` identifies the kernel; `stream` is the handle of the launch's stream.
        """
        finite, digest = self._parts(kernel)
        if not self._all:
            self._count(kernel, finite, digest)
        if not plan.storages or plan.kind not in ("cpu", "cuda") or self._broken:
            return None
        if len(self._waiting) >= _WAITING:
            self._report("check-busy", _BUSY)
            return None
        examined = ExaminedLaunch(0, 0, [], plan=plan, kernel=kernel, stream=stream)
        examined.finite, examined.digest = finite, digest
        if plan.kind == "cuda":
            examined.device = device_kernels()
            captured = None if examined.device is None else is_capturing(stream)
            if captured is None:
                return None
            examined.captured = captured
        if digest and not self._is_without_digest(examined):
            self._add_digests(plan.before, examined)
        if finite and plan.changed:
            self._copy_aside(examined)
        return examined

    def end(self, examined: ExaminedLaunch, number: int) -> int:
        """Examine the launch's outputs, and return the number for its row: a new one for 0."""
        examined.number = number or next(self._session.copy_numbers)
        try:
            if examined.finite and examined.plan.floats:
                self._search_outputs(examined)
            if examined.digest and not examined.captured:
                self._add_digests(examined.plan.after, examined)
        finally:
            examined.apart = None
            if examined.captured:
                self._launches[examined.number] = None
                self._nodes.append(examined)
            else:
                self._await(examined)
        return examined.number

    def drop(self, examined: ExaminedLaunch) -> None:
        """Release the answers for a launch that raised an error."""
        examined.number, examined.lost, examined.apart = (
            next(self._session.copy_numbers),
            True,
            None,
        )
        self._await(examined)

    def failed(self, error: Exception) -> None:
        """Report an error, and examine no more launches in this session."""
        self._broken = True
        self._report("check-failed", f"outputs are no longer checked: {error}")

    def _is_without_digest(self, examined: ExaminedLaunch) -> bool:
        """Return whether a launch is captured into a graph, and report that it has no digest."""
        return examined.captured and self._report("check-in-graph", _IN_GRAPH)

    def _add_digests(self, parts: Sequence[Part], examined: ExaminedLaunch) -> None:
        if examined.device is None:
            from kvtrace.addons.check.recording.host_kernels import digest

            for moment in (moment for moments, _ in parts for moment in moments):
                piece = moment.piece
                value = digest(memory_of(piece), piece.lines, piece.address)
                examined.sums.append(((moment,), (value,)))
            return
        for moments, table in parts:
            answer = examined.device.digest(table, examined.stream)
            if answer is None:
                self._report("check-busy", _BUSY)
            else:
                examined.sums.append((moments, answer))

    def _copy_aside(self, examined: ExaminedLaunch) -> None:
        """Copy small tensors that the launch reads and changes, if the launch may be recorded."""
        plan = examined.plan
        if len(plan.storages) > SPANS or not (self._wants(0, examined) or self._wants(1, examined)):
            return
        if len(plan.small) < len(plan.changed):
            self._report("check-in-place", _IN_PLACE)
        if examined.device is None:
            examined.apart = {s.arg: memory_of(s.piece).tobytes() for s in plan.small}
        elif plan.small:
            copies = examined.device.aside([s.piece for s in plan.small], examined.stream)
            if copies is not None:
                pairs = zip(plan.small, copies, strict=True)
                examined.apart = {storage.arg: copy for storage, copy in pairs}

    def _search_outputs(self, examined: ExaminedLaunch) -> None:
        device = examined.device
        if device is None:
            self._search_outputs_on_cpu(examined, examined.plan.floats)
            return
        if device not in self._reserving:
            self._reserving.add(device)
            device.reserve()
        wants = (self._wants(0, examined), self._wants(1, examined))
        for (moments, table), is_whole in examined.plan.finite_parts(examined.apart or {}):
            keep = wants if is_whole else (False, False)
            answer = device.finite(table, examined.stream, examined.captured, keep)
            if answer is None:
                self._report("check-busy", _BUSY)
            else:
                examined.flags.append((moments, answer))

    def _search_outputs_on_cpu(self, examined: ExaminedLaunch, floats: Sequence[Storage]) -> None:
        """Search outputs in host memory for NaNs and infinities, and store the flags.

        Like the kernel `finite`, also stores the launch's memory in `examined.kept` if its inputs
        are finite and it is wanted.
        """
        from kvtrace.addons.check.recording.host_kernels import flags

        bits_of_storages = [
            flags(memory_of(storage.piece), str(storage.piece.dtype)) for storage in floats
        ]
        moments = tuple(StorageMoment(storage, "after", storage.piece) for storage in floats)
        flag_word = sum(bits << 2 * index for index, bits in enumerate(bits_of_storages))
        examined.flags.append((moments, flag_word))
        if not flag_word:
            return
        reserve_kind = 0 if any(bits & NAN for bits in bits_of_storages) else 1
        if not self._wants(reserve_kind, examined):
            return
        input_contents: dict[int, bytes] = dict(examined.apart or {})
        for storage in examined.plan.storages:
            if storage.read and not storage.written:
                input_contents[storage.arg] = memory_of(storage.piece).tobytes()
        disqualifying_flags = NAN if reserve_kind == 0 else NAN | INFINITE
        if not any(
            _flags_of_content(storage, input_contents.get(storage.arg)) & disqualifying_flags
            for storage in examined.plan.storages
        ):
            self._kernels_kept[reserve_kind].add(examined.kernel)
            after = {
                (storage.arg, "after"): memory_of(storage.piece).tobytes() for storage in floats
            }
            examined.kept = {
                (arg, "before"): content for arg, content in input_contents.items()
            } | after

    def _wants(self, kind: int, examined: ExaminedLaunch) -> bool:
        """Return whether to record a launch that made a NaN (`kind` 0) or an infinity (1).

        Only one per kernel is recorded, and 4 in all.
        """
        kernels = self._kernels_kept[kind]
        return len(kernels) < MOST_KEPT and examined.kernel not in kernels

    def _report(self, code: str, text: str) -> bool:
        self._session.message("info", code, text)
        return True

    # -- in the journal's thread ------------------------------------------------------------

    def round(self, journal: "Journal") -> None:
        """Write the answers that have arrived into the journal."""
        super().round(journal)
        if self._unjudged:
            text, times, self._unjudged = _NOT_JUDGED, self._unjudged, 0
            self._session.message("info", "check-sampled", text.format(self._finite), times)
        if self._undigested:
            text, times, self._undigested = _NOT_DIGESTED, self._undigested, 0
            self._session.message("info", "check-sampled", text.format(self._digest), times)
        for node in self._nodes:
            launch = self._launches.get(node.number)
            if launch is not None and self._read_new_flags(node):
                self._write(journal, node, *launch)
        if self._digests:
            seq, call, arg, when, digest, lines = zip(*self._digests, strict=True)
            self._digests = []
            signed = [number - (number >> 63 << 64) for number in digest]
            columns = {"seq": seq, "call_id": call, "arg": arg, "when": when}
            journal.append("digests", columns | {"digest": signed, "lines": lines})

    def finish(self, journal: "Journal") -> None:
        """Wait up to 5 seconds for pending answers, and write them into the journal."""
        deadline = time.monotonic() + _LAST_SECONDS
        while self._waiting:
            self.round(journal)
            has_pending = any(
                not answer.done for launch in self._waiting for answer in launch.answers
            )
            if not has_pending or time.monotonic() > deadline:
                break
            pause(0.001)
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
        for index, (moments, answer) in enumerate(examined.flags):
            answer_flags = answer.flags
            if answer_flags >= KEPT[0]:
                self._read_reserves(examined, device, moments, answer, answer_flags)
            examined.flags[index] = (moments, answer_flags)
            device.release(answer)
        for index, (moments, answer) in enumerate(examined.sums):
            examined.sums[index] = (moments, answer.sums)
            device.release(answer)
        return True

    def _read_new_flags(self, node: ExaminedLaunch) -> bool:
        """Store a graph node's flags that are new in `node.fresh`; return whether there are any."""
        node.fresh = []
        for index, (moments, answer) in enumerate(node.flags):
            answer_flags, flags_before = (
                answer.flags if answer.done else 0,
                node.known.get(index, 0),
            )
            if answer_flags == flags_before:
                continue
            node.known[index] = answer_flags
            node.fresh.append((moments, answer_flags & ~flags_before))
            assert node.device is not None
            self._read_reserves(node, node.device, moments, answer, answer_flags & ~flags_before)
        return bool(node.fresh)

    def _write(self, journal: "Journal", examined: ExaminedLaunch, seq: int, call_id: int) -> None:
        launch = {"seq": seq, "call_id": call_id}
        for moments, answer_flags in examined.fresh if examined.captured else examined.flags:
            if not answer_flags:
                continue
            for index, moment in enumerate(moments):
                bits = answer_flags >> 2 * index & 3
                if moment.when == "after" and bits:
                    row = launch | moment.storage.row("after") | _flag_columns(bits)
                    journal.add("non_finite", row)
        if examined.kept is not None:
            self._record_launch(journal, examined, examined.kept, launch)
            examined.kept = None
        for moments, sums in examined.sums:
            self._digests += [
                (seq, call_id, moment.storage.arg, moment.when, digest, moment.piece.lines)
                for moment, digest in zip(moments, sums, strict=True)
            ]

    def _read_reserves(
        self,
        examined: ExaminedLaunch,
        device: DeviceKernels,
        moments: Sequence[StorageMoment],
        answer: Answer,
        fresh: int,
    ) -> None:
        """Store the memory in the reserves that a launch took in `examined.kept`, and free them.

        `fresh` are the answer's new flags, which say what reserves were taken.
        """
        for reserve_kind, bit in enumerate(KEPT):
            if not fresh & bit or not device.holds(reserve_kind, answer):
                continue
            base, contents = device.reserves[reserve_kind].address, {}
            for moment, offset in zip(moments, answer.offsets, strict=True):
                begin = base + offset + moment.piece.address % VECTOR
                content = ctypes.string_at(begin, moment.piece.size)
                contents[moment.storage.arg, moment.when] = content
            if self._wants(reserve_kind, examined):
                self._kernels_kept[reserve_kind].add(examined.kernel)
                examined.kept = contents
            device.free(reserve_kind)

    def _record_launch(
        self,
        journal: "Journal",
        examined: ExaminedLaunch,
        contents: Mapping[tuple[int, str], bytes],
        launch: dict[str, Any],
    ) -> None:
        size = sum(map(len, contents.values()))
        if size > self._bytes:
            self._report("check-over-budget", _OVER_BUDGET)
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
            bits = _flags_of_content(storage, content) if when == "before" else 0
            if bits:
                journal.add("non_finite", launch | storage.row(when) | _flag_columns(bits))


_BUSY: Final = "launches are not checked while the results of too many earlier checks are pending"
_NOT_JUDGED: Final = (
    "launches are not checked for NaNs and infinities: KVTRACE_CHECK selects one in {} of a kernel"
)
_NOT_DIGESTED: Final = "launches have no digests: KVTRACE_CHECK selects one in {} of a kernel"
_IN_PLACE: Final = (
    f"tensors of more than {IN_PLACE_BYTES >> 20} MiB that a kernel both reads and writes are not "
    "copied before launches, so they are missing if the launch makes a NaN"
)
_IN_GRAPH: Final = (
    "launches that are captured into a graph have no digests: all replays would share one"
)
_OVER_BUDGET: Final = (
    "a launch that made a NaN or an infinity is not kept: its memory does not fit into the "
    "remainder of KVTRACE_CHECK_BYTES"
)


def _flags_of_content(storage: Storage, content: bytes | None) -> int:
    if content is None or storage.piece.dtype not in FORMATS:
        return 0
    import numpy as np

    from kvtrace.addons.check.recording.host_kernels import flags

    return flags(np.frombuffer(content, np.uint8), str(storage.piece.dtype))


def _flag_columns(bits: int) -> dict[str, bool]:
    return {"nan": bool(bits & NAN), "infinity": bool(bits & INFINITE)}
