"""What hands over inputs to the candidate's process, one call at a time, and keeps its answers.

This process runs no code of the candidate, and shares no memory with the one that does. Inputs of a
call leave it when the one before is answered, so no answer can be made of later inputs. Which case
a call is of, how many calls there are and in which order, follows from a seed that only it has.
Each case is called once or more; the bytes of the first answer are kept as the case's, and all
others have to be equal to them, when they are returned and again later.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.judge.comparing import EPSILON, count_differences, numpy_dtype
from kvtrace.addons.judge.inputs import DTYPES, FEW, Input, TensorInput, read_cases
from kvtrace.addons.judge.messages import Malformed, receive, send
from kvtrace.addons.judge.reference import INITIAL
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.addons.judge.walls import system_calls

#: The file that tells of all calls.
ANSWERED: Final = "answered.json"
_SET_DEATH_SIGNAL: Final = 1
#: Calls of one judgment: at least, at most, and how long those take that repeat others.
_FEWEST: Final = (96, 128)
_MOST: Final = (300, 420)
_SECONDS: Final = 0.8
#: Whatever they take, calls are repeated for at most this share of a process's time.
_SHARE: Final = 0.25
#: Results of so many bytes stay alive, to be read again.
_KEPT_BYTES: Final = 64 << 20
#: Where threads run on, results are read again so many seconds later.
_LATER: Final = 1.5
_FEW_BYTES: Final = 4 << 20
_MOST_RESULTS: Final = 64
_MOST_AXES: Final = 16
_MOST_TOLD: Final = 20
_AHEAD: Final = 10
_TYPES: Final = frozenset((*DTYPES.values(), *EPSILON)) | {
    "uint16", "uint32", "uint64", "complex64", "complex128"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """A result as its bytes were returned; `value` is that of a number, which has no bytes."""

    dtype: str
    shape: tuple[int, ...]
    file: str = ""
    value: float | None = None


@dataclass
class CallResults:
    """What became of all calls.

    Attributes:
        order: The case of each call.
        results: The results of each case's first call, by the case's number.
        odd: Which results are something else than plain tensors.
        unlike: Results that are otherwise in another call of the same case, or later: sentences.
        drew: What drew random numbers in a call.
        whole: Whether all calls were answered.
        malformed: Why messages were not read to their end.
        running: Whether threads or timers of the candidate ran on after its last call, or it kept
            results.

    """

    order: list[int] = field(default_factory=list)
    results: dict[int, list[Result]] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    count_differences: list[tuple[str, str]] = field(default_factory=list)
    drew: list[str] = field(default_factory=list)
    whole: bool = False
    malformed: str = ""
    running: bool = False


def hand_over(
    inputs: Path, seed: Path, folder: Path, telling: int, hearing: int, *, seconds: float,
    most: int,
) -> None:  # fmt: skip
    """Call the candidate on all cases, and leave what it answers in a folder.

    Args:
        inputs: Where the cases are.
        seed: The file of what order and number of calls are drawn from.
        folder: Where answers are left.
        telling: What calls are written to.
        hearing: What answers are read from.
        seconds: How long the candidate's process may take.
        most: Bytes that the results of a call may have.

    """
    folder.mkdir()
    caller = _Caller(inputs, folder, _drawing(seed), telling, hearing, most)
    try:
        caller.call_all(seconds)
    except Malformed as problem:
        caller.answered.malformed = str(problem)
    except BrokenPipeError:
        pass  # its process has ended: `whole` is false
    told = caller.answered
    kept = {
        **vars(told),
        "results": {
            str(number): [[e.dtype, list(e.shape), e.file, e.value] for e in each]
            for number, each in told.results.items()
        },
    }
    (folder / ANSWERED).write_text(json.dumps(kept), encoding="utf-8")


def _drawing(seed: Path) -> random.Random:
    return random.Random(seed.read_bytes())  # noqa: S311 - its seed is secret, and draws no secrets


def fork_worker(parent: int, work: Any) -> int:
    """Run a function in a fork of this process, which ends with it; return its number."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            with suppress(PermissionError):  # who may, lets nobody wait for its few milliseconds
                os.nice(-_AHEAD)
            if os.getppid() == parent:
                work()
                code = 0
        finally:
            os._exit(code)
    return number


def read_answered(folder: Path) -> CallResults:
    """Read what `hand_over` has left.

    Raises:
        CannotJudge: it is not there.

    """
    try:
        told = json.loads((folder / ANSWERED).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotJudge("what hands over calls ended before it was done") from error
    results = {
        int(number): [Result(dtype, tuple(shape), file, value) for dtype, shape, file, value in e]
        for number, e in told["results"].items()
    }
    unlike = [(str(rule), str(text)) for rule, text in told["unlike"]]
    return CallResults(**{**told, "results": results, "unlike": unlike})


class _Caller:
    def __init__(
        self, inputs: Path, folder: Path, drawing: random.Random, telling: int, hearing: int,
        most: int,
    ) -> None:  # fmt: skip
        self.answered = CallResults()
        self._inputs = inputs
        self._folder = folder
        self._random = drawing
        self._telling = telling
        self._hearing = hearing
        self._most = most
        self._cases = read_cases(inputs)
        #: The bytes of each case's results; none where it raised.
        self._first: dict[int, list[bytes]] = {}
        self._kept: list[int] = []
        self._read: dict[int, bytes] = {}
        self._held = 0
        self._repeating = 0.0

    def call_all(self, seconds: float) -> None:
        """Call each case, and some of them again."""
        drawing = self._random
        others = [*range(1, len(self._cases))]
        drawing.shuffle(others)
        for number in [0, *others]:
            self._call(number)
            for _ in range(drawing.randrange(4)):
                self._repeat()
        fewest, most = drawing.randint(*_FEWEST), drawing.randint(*_MOST)
        while (at := len(self.answered.order)) < most:
            if not self._again_possible() or self._repeating > _SHARE * seconds:
                break
            if self._repeating > _SECONDS and at >= fewest:
                break
            self._repeat()
        self._call(0, keep=True)  # what changes the last result later, has one
        told, _ = self._asked({"state": True})
        self.answered.running = told.get("running") is True
        self._read_again(self._kept, "later")
        if self.answered.running:
            time.sleep(_LATER)
            self._read_again(self._kept, "later, while a thread or a timer of its file runs")
        self.answered.whole = True

    def _again_possible(self) -> bool:
        return any(self._first.values())

    def _repeat(self) -> None:
        """Call a case again that was answered, most often one of few bytes."""
        known = sorted((n for n, e in self._first.items() if e), key=self._bytes_of)
        if not known:
            return
        begun = time.monotonic()
        chosen = known[min(int(self._random.expovariate(0.7)), len(known) - 1)]
        last = self.answered.order[-1]
        alike = [n for n in known if n != last and self._shapes(n) == self._shapes(last)]
        if alike and self._random.random() < 1 / 2:  # what is left of the last call would fit
            chosen = self._random.choice(alike)
        self._call(chosen)
        if self._kept and self._random.random() < 1 / 8:
            self._read_again([self._random.choice(self._kept)], "later")
        self._repeating += time.monotonic() - begun

    def _shapes(self, number: int) -> list[tuple[int, ...]]:
        return [each.shape for each in self._cases[number].tensors]

    def _bytes_of(self, number: int) -> tuple[bool, int]:
        """Return what cases are sorted by: those of a few elements last."""
        sizes = [math.prod(each.shape) for each in self._cases[number].tensors]
        total = sum(each.storage for each in self._cases[number].tensors)
        return max(sizes, default=0) < FEW, total

    def _call(self, number: int, *, keep: bool = False) -> None:
        """Call the candidate on a case, and compare with its first answer, if there is one."""
        case, call = self._cases[number], len(self.answered.order)
        first = self._first.get(number)
        new = first is None or self._random.random() < 1 / 16
        keep = keep or (new and self._held < _KEPT_BYTES)
        self.answered.order.append(number)
        header = {
            "call": call, "keep": keep,
            "inputs": [
                {**_told(each), "same": case.shared_with(at)} for at, each in enumerate(case.inputs)
            ],
            "weights": [_told(each) for each in case.weights],
            "overwrite": self._random.random() < 1 / 2,
            "gradients": self._random.random() < 1 / 2,
            "tracked": case.tracked, "cotangents": case.cotangents,
        }  # fmt: skip
        if call == 0 and (self._inputs / INITIAL).exists():
            header["initial"] = json.loads((self._inputs / INITIAL).read_text(encoding="utf-8"))
        told, given = self._asked(header, self._contents(number))
        for each in _texts(told.get("drew")):
            if each not in self.answered.drew:
                self.answered.drew.append(each)
        for each in _texts(told.get("odd")):
            if each not in self.answered.odd:
                self.answered.odd.append(each)
        results, parts = _results(told, given)
        if keep and parts:
            self._kept.append(call)
            self._held += len(given)
        if first is None:
            self._take(number, results, parts)
        else:
            self._compare(number, results, parts, "call", f"call {call + 1}")

    def _contents(self, number: int) -> bytes:
        """Return the bytes of a case's tensors, which are read once where they are few."""
        if number not in self._read:
            files = [self._inputs / each.file for each in self._cases[number].tensors]
            content = b"".join(file.read_bytes() for file in files)
            if len(content) > _FEW_BYTES:
                return content
            self._read[number] = content
        return self._read[number]

    def _take(self, number: int, results: Sequence[Result], parts: Sequence[bytes]) -> None:
        """Keep a case's first answer."""
        kept = []
        for at, (result, part) in enumerate(zip(results, parts, strict=True)):
            file = f"answer{number}-{at}.bin"
            (self._folder / file).write_bytes(part)
            kept.append(Result(result.dtype, result.shape, file, result.value))
        self.answered.results[number] = kept
        self._first[number] = [*parts]

    def _compare(
        self, number: int, results: Sequence[Result], parts: Sequence[bytes], rule: str, when: str
    ) -> None:
        """Note where an answer is unlike the first one of its case."""
        known, first = self.answered.results[number], self._first[number]
        label = self._cases[number].label
        if len(known) != len(results):
            self._unlike(rule, f"{len(results)} results in place of {len(known)}, {when}, {label}")
            return
        for at, (old, new) in enumerate(zip(known, results, strict=True)):
            if (old.dtype, old.shape, repr(old.value)) != (new.dtype, new.shape, repr(new.value)):
                self._unlike(rule, f"result {at} has another type, shape or value, {when}, {label}")
            elif first[at] != parts[at]:
                kind = numpy_dtype(new.dtype)
                one, two = (np.frombuffer(each, kind) for each in (first[at], parts[at]))
                count = count_differences(one, two)
                if count:
                    text = f"{count:,} of {one.size:,} elements of result {at} differ"
                    self._unlike(rule, f"{text}, {when}, {label}")

    def _unlike(self, rule: str, text: str) -> None:
        if len(self.answered.unlike) < _MOST_TOLD:
            self.answered.unlike.append((rule, text))

    def _read_again(self, calls: Sequence[int], when: str) -> None:
        """Read results again that were returned before."""
        for call in calls:
            told, given = self._asked({"again": call})
            results, parts = _results(told, given)
            number = self.answered.order[call]
            self._compare(number, results, parts, "later", f"read {when}")

    def _asked(self, header: dict[str, Any], content: bytes = b"") -> tuple[dict[str, Any], bytes]:
        send(self._telling, header, content)
        told = receive(self._hearing, self._most)
        if told is None:
            raise BrokenPipeError
        return told


def _told(given: Input) -> dict[str, Any]:
    """Return what the candidate's process is given of an input, but not where its contents are."""
    if isinstance(given, TensorInput):
        return {
            "name": given.name, "dtype": given.dtype, "shape": given.shape,
            "strides": given.strides, "offset": given.offset, "storage": given.storage,
        }  # fmt: skip
    return {"name": given.name, "value": given.value}


def _texts(given: Any) -> list[str]:
    """Return a few short texts, of what may be anything."""
    listed = given if isinstance(given, list) else []
    return [str(each)[:200] for each in listed[:_MOST_TOLD]]


def _results(header: dict[str, Any], content: bytes) -> tuple[list[Result], list[bytes]]:
    """Read results, and the bytes of each.

    Raises:
        Malformed: what describes them does not fit.

    """
    given = header.get("results")
    if not isinstance(given, list) or len(given) > _MOST_RESULTS:
        raise Malformed("an answer without results, or with too many")
    results, parts, at = [], [], 0
    for each in given:
        if not isinstance(each, dict):
            raise Malformed("a result that is not an object")
        if "value" in each:
            value = each["value"]
            if not isinstance(value, int | float) and value is not None:
                raise Malformed("a result that is not a number")
            results.append(Result("", (), value=None if value is None else float(value)))
            parts.append(b"")
            continue
        dtype, shape = each.get("dtype"), each.get("shape")
        if dtype not in _TYPES or not isinstance(shape, list) or len(shape) > _MOST_AXES:
            raise Malformed(f"a result of the type {str(dtype)[:40]}")
        if not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
            raise Malformed("a result of no shape")
        end = at + math.prod(shape) * numpy_dtype(str(dtype)).itemsize
        if end > len(content):
            raise Malformed("a result without all of its bytes")
        results.append(Result(str(dtype), tuple(shape)))
        parts.append(content[at:end])
        at = end
    if at != len(content):
        raise Malformed("bytes of no result")
    return results, parts


def array_of(result: Result, folder: Path) -> np.ndarray[Any, Any]:
    """Return the elements of a result of a case's first call."""
    if not result.file or not result.dtype:
        return np.asarray(np.nan if result.value is None else result.value, np.float64)
    content = (folder / result.file).read_bytes()
    return np.frombuffer(content, numpy_dtype(result.dtype)).reshape(result.shape)
