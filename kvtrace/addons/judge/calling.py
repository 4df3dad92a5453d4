"""The caller: sends inputs to the candidate's process, one call at a time, and stores results.

The caller runs no code of the candidate and shares no memory with its process. The inputs of a call
are sent after the previous call was answered, so no answer can depend on later inputs. A seed that
only the caller has determines the number of calls, and the case of each. Each case is called at
least once; the bytes of its first answer are stored as its results. All later answers for the case
must be equal, both when returned and when read again.
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

from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.messages import Malformed, receive, send
from kvtrace.addons.judge.request import INITIAL, CannotJudge
from kvtrace.addons.judge.walls import system_calls
from kvtrace.inputs.cases import DTYPES, EPSILON, FEW, Input, TensorInput, numpy_dtype, read_cases

#: The file of all calls' results.
ANSWERED: Final = "answered.json"
_SET_DEATH_SIGNAL: Final = 1
#: Calls of one judgment: at least, at most, and the work of repeated calls: elements of inputs, and
#: for each call as many as are passed meanwhile.
_FEWEST_CALLS: Final = (96, 128)
_MOST_CALLS: Final = (300, 420)
_REPEATING_WORK: Final = 1_500_000
_WORK_OF_CALL: Final = 4_000
#: Other cases than the first are called for this share of a process's time.
_CALLING_SHARE: Final = 0.4
#: A case is not called that would end after the first share of a process's time, if time grows with
#: the square of the size, and the largest case before took the second share.
_LATEST_SHARE: Final = 0.7
_SLOW_SHARE: Final = 1 / 10
#: Repeated calls take at most this share of a process's time.
_REPEATING_SHARE: Final = 0.25
#: Bytes of results that stay alive, to be read again.
_MOST_KEPT_BYTES: Final = 64 << 20
#: Seconds after which results are read again if threads run on.
_LATER_SECONDS: Final = 1.5
_MOST_RESULTS: Final = 64
_MOST_AXES: Final = 16
_MOST_NOTES: Final = 20
_PRIORITY: Final = 10
_TYPES: Final = frozenset((*DTYPES.values(), *EPSILON)) | {
    "uint16", "uint32", "uint64", "complex64", "complex128"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """A returned result: a tensor whose bytes are in `file`, or else the number `value`."""

    dtype: str
    shape: tuple[int, ...]
    file: str = ""
    value: float | None = None


@dataclass
class CallResults:
    """Results and irregularities of all calls.

    Attributes:
        order: The case number of each call.
        results: The results of each case's first call, by case number.
        odd: Sentences on results that are not plain tensors.
        differences: Rule and sentence for each result that differs in a repeated call ("call") or
            when read again ("later").
        drew: Names of random number generators that calls used.
        whole: All calls were answered.
        outgrown: The label of the case that ended the calls, if it is so much larger than those
            before that it may take more than a process's time; empty if none did.
        malformed: The error in a message that ended the calls; empty if none did.
        unrepeated: The number of repeated calls that were left out, as calls take long.
        running: Threads or timers of the candidate ran on after its last call, or the candidate
            kept results.
    """

    order: list[int] = field(default_factory=list)
    results: dict[int, list[Result]] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    differences: list[tuple[str, str]] = field(default_factory=list)
    drew: list[str] = field(default_factory=list)
    whole: bool = False
    outgrown: str = ""
    malformed: str = ""
    unrepeated: int = 0
    running: bool = False


def call_candidate(
    inputs: Path, seed: Path, folder: Path, calls: int, answers: int, *, seconds: float,
    most_bytes: int,
) -> None:  # fmt: skip
    """Call the candidate on all cases, and write its results into a new folder.

    Args:
        inputs: The folder with the cases.
        seed: The file with the seed that determines number and order of calls.
        folder: The folder to create for results.
        calls: The descriptor that calls are written to.
        answers: The descriptor that answers are read from.
        seconds: Time limit of the candidate's process, which limits the repeated calls.
        most_bytes: Limit of a call's results in bytes.
    """
    folder.mkdir()
    caller = _Caller(inputs, folder, _random_from(seed), calls, answers, most_bytes)
    try:
        caller.call_all(seconds)
    except Malformed as problem:
        caller.answered.malformed = str(problem)
    except BrokenPipeError:  # the candidate's process has ended: `whole` is false
        caller.answered.outgrown = caller.outgrown(seconds)
    outcome = caller.answered
    content = {
        **vars(outcome),
        "results": {
            str(number): [[e.dtype, list(e.shape), e.file, e.value] for e in results]
            for number, results in outcome.results.items()
        },
    }
    (folder / ANSWERED).write_text(json.dumps(content), encoding="utf-8")


def _random_from(seed: Path) -> random.Random:
    return random.Random(seed.read_bytes())  # noqa: S311 - its seed is secret, and draws no secrets


def fork_worker(parent: int, work: Any) -> int:
    """Run `work` in a fork, and return the fork's process id; it is killed when `parent` ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            system_calls.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            with suppress(PermissionError):  # its work takes milliseconds: others need not wait
                os.nice(-_PRIORITY)
            if os.getppid() == parent:
                work()
                code = 0
        finally:
            os._exit(code)
    return pid


def read_call_results(folder: Path) -> CallResults:
    """Return the results that `call_candidate` has written into a folder.

    Raises:
        CannotJudge: the file does not exist.
    """
    try:
        content = json.loads((folder / ANSWERED).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotJudge("the process that calls the candidate ended early") from error
    results = {
        int(number): [
            Result(dtype, tuple(shape), file, value) for dtype, shape, file, value in entries
        ]
        for number, entries in content["results"].items()
    }
    differences = [(str(rule), str(text)) for rule, text in content["differences"]]
    return CallResults(**{**content, "results": results, "differences": differences})


class _Caller:
    """The calls of one judgment; `answered` has their results so far."""

    def __init__(
        self, inputs: Path, folder: Path, random_: random.Random, calls: int, answers: int,
        most_bytes: int,
    ) -> None:  # fmt: skip
        self.answered = CallResults()
        self._inputs = inputs
        self._folder = folder
        self._random = random_
        self._calls = calls
        self._answers = answers
        self._most_bytes = most_bytes
        self._cases = read_cases(inputs)
        #: The bytes of each case's results; an empty list if the candidate raised an error.
        self._first_bytes: dict[int, list[bytes]] = {}
        self._kept_calls: list[int] = []
        self._kept_size = 0
        self._repeating_seconds = 0.0
        self._repeating_work = 0
        #: Processor time of all answers, as the candidate says it, at most their duration.
        self._seconds = 0.0
        self._reported_seconds = 0.0
        #: Size and seconds of the first call of the largest case that was answered.
        self._largest = (1, 0.0)

    def call_all(self, seconds: float) -> None:
        """Call each case once, repeat some calls, and read old results again.

        Cases are called in random order among those of about one size, small ones first, until a
        share of the time is over.
        """
        random_ = self._random
        other_cases = [*range(1, len(self._cases))]
        random_.shuffle(other_cases)
        other_cases.sort(key=lambda number: self._size_key(number)[1].bit_length())
        for number in [0, *other_cases]:
            if self._seconds > _CALLING_SHARE * seconds:
                break
            if self._may_take_too_long(number, seconds):
                continue
            begun, size = self._seconds, self._size_key(number)[1]
            self._call(number)
            self._largest = max(self._largest, (size, self._seconds - begun))
            for _ in range(random_.randrange(4)):
                self._repeat()
        fewest_calls, most_calls = random_.randint(*_FEWEST_CALLS), random_.randint(*_MOST_CALLS)
        while (count := len(self.answered.order)) < most_calls:
            if not self._can_repeat() or self._repeating_seconds > _REPEATING_SHARE * seconds:
                break
            if self._repeating_work > _REPEATING_WORK and count >= fewest_calls:
                break
            self._repeat()
        self.answered.unrepeated = max(fewest_calls - len(self.answered.order), 0)
        self._call(0, keep=True)  # a last result, for a thread that changes such a result later
        state, _ = self._exchange({"state": True})
        self.answered.running = state.get("running") is True
        self._read_again(self._kept_calls, "later")
        if self.answered.running:
            time.sleep(_LATER_SECONDS)
            self._read_again(self._kept_calls, "later, while a thread or a timer of its file runs")
        self.answered.whole = True

    def _may_take_too_long(self, number: int, seconds: float) -> bool:
        size, duration = self._largest
        end = self._seconds + duration * (self._size_key(number)[1] / size) ** 2
        return duration > _SLOW_SHARE * seconds and end > _LATEST_SHARE * seconds

    def outgrown(self, seconds: float) -> str:
        """Return the last case's label if it may take longer, by the cube of the size; else ""."""
        size, duration = self._largest
        last = self.answered.order[-1] if self.answered.order else 0
        longest = duration * (self._size_key(last)[1] / size) ** 3
        return self._cases[last].label if longest > seconds else ""

    def _can_repeat(self) -> bool:
        return any(self._first_bytes.values())

    def _repeat(self) -> None:
        """Repeat the call of a random answered case; cases with few bytes are chosen more often."""
        answered_cases = sorted(
            (n for n, parts in self._first_bytes.items() if parts), key=self._size_key
        )
        if not answered_cases:
            return
        begun = self._seconds
        case_number = answered_cases[
            min(int(self._random.expovariate(0.7)), len(answered_cases) - 1)
        ]
        last_case = self.answered.order[-1]
        same_shapes = [
            n
            for n in answered_cases
            if n != last_case and self._shapes(n) == self._shapes(last_case)
        ]
        if same_shapes and self._random.random() < 1 / 2:  # memory left by the last call would fit
            case_number = self._random.choice(same_shapes)
        self._repeating_work += _WORK_OF_CALL + self._size_key(case_number)[1]
        self._call(case_number)
        if self._kept_calls and self._random.random() < 1 / 8:
            self._read_again([self._random.choice(self._kept_calls)], "later")
        self._repeating_seconds += self._seconds - begun

    def _shapes(self, number: int) -> list[tuple[int, ...]]:
        return [tensor.shape for tensor in self._cases[number].tensors]

    def _size_key(self, number: int) -> tuple[bool, int]:
        """Return a sort key for cases: by size in bytes, but tiny cases last."""
        sizes = [math.prod(tensor.shape) for tensor in self._cases[number].tensors]
        total = sum(tensor.storage for tensor in self._cases[number].tensors)
        return max(sizes, default=0) < FEW, total

    def _call(self, number: int, *, keep: bool = False) -> None:
        """Call the candidate on a case, and store the answer, or compare it with the first one.

        `keep`: the results stay alive in the candidate's process, to be read again.
        """
        case, call = self._cases[number], len(self.answered.order)
        first_bytes = self._first_bytes.get(number)
        is_new = first_bytes is None or self._random.random() < 1 / 16
        keep = keep or (is_new and self._kept_size < _MOST_KEPT_BYTES)
        self.answered.order.append(number)
        header = {
            "call": call, "keep": keep,
            "inputs": [
                {**_input_description(value), "same": case.shared_with(at)}
                for at, value in enumerate(case.inputs)
            ],
            "weights": [_input_description(weight) for weight in case.weights],
            "overwrite": self._random.random() < 1 / 2,
            "gradients": self._random.random() < 1 / 2,
            "tracked": case.tracked, "cotangents": case.cotangents,
        }  # fmt: skip
        if call == 0 and (self._inputs / INITIAL).exists():
            header["initial"] = json.loads((self._inputs / INITIAL).read_text(encoding="utf-8"))
        answer, content = self._exchange(header, self._contents(number))
        for name in _short_texts(answer.get("drew")):
            if name not in self.answered.drew:
                self.answered.drew.append(name)
        for sentence in _short_texts(answer.get("odd")):
            if sentence not in self.answered.odd:
                self.answered.odd.append(sentence)
        results, parts = _results_of_answer(answer, content)
        if keep and parts:
            self._kept_calls.append(call)
            self._kept_size += len(content)
        if first_bytes is None:
            self._store_first(number, results, parts)
        else:
            self._compare(number, results, parts, "call", f"call {call + 1}")

    def _contents(self, number: int) -> bytes:
        """Return the bytes of all tensors of a case."""
        files = (self._inputs / tensor.file for tensor in self._cases[number].tensors)
        return b"".join(file.read_bytes() for file in files)

    def _store_first(self, number: int, results: Sequence[Result], parts: Sequence[bytes]) -> None:
        stored = []
        for index, (result, content) in enumerate(zip(results, parts, strict=True)):
            file = f"answer{number}-{index}.bin"
            (self._folder / file).write_bytes(content)
            stored.append(Result(result.dtype, result.shape, file, result.value))
        self.answered.results[number] = stored
        self._first_bytes[number] = [*parts]

    def _compare(
        self, number: int, results: Sequence[Result], parts: Sequence[bytes], rule: str, when: str
    ) -> None:
        """Compare results with the first answer of their case, and store the differences.

        `rule` and `when` describe the difference: a repeated call, or reading again.
        """
        first_results, first_parts = self.answered.results[number], self._first_bytes[number]
        label = self._cases[number].label
        if len(first_results) != len(results):
            self._add_difference(
                rule, f"{len(results)} results in place of {len(first_results)}, {when}, {label}"
            )
            return
        for index, (first_result, result) in enumerate(zip(first_results, results, strict=True)):
            if (first_result.dtype, first_result.shape, repr(first_result.value)) != (
                result.dtype,
                result.shape,
                repr(result.value),
            ):
                self._add_difference(
                    rule, f"result {index} has another type, shape or value, {when}, {label}"
                )
            elif first_parts[index] != parts[index]:
                dtype = numpy_dtype(result.dtype)
                first_elements, elements = (
                    np.frombuffer(part, dtype) for part in (first_parts[index], parts[index])
                )
                count = count_differences(first_elements, elements)
                if count:
                    text = f"{count:,} of {first_elements.size:,} elements of result {index} differ"
                    self._add_difference(rule, f"{text}, {when}, {label}")

    def _add_difference(self, rule: str, text: str) -> None:
        if len(self.answered.differences) < _MOST_NOTES:
            self.answered.differences.append((rule, text))

    def _read_again(self, calls: Sequence[int], when: str) -> None:
        """Read earlier results again, and compare them with the first answers of their cases."""
        for call in calls:
            answer, content = self._exchange({"again": call})
            results, parts = _results_of_answer(answer, content)
            number = self.answered.order[call]
            self._compare(number, results, parts, "later", f"read {when}")

    def _exchange(
        self, header: dict[str, Any], content: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        begun = time.monotonic()
        send(self._calls, header, content)
        answer = receive(self._answers, self._most_bytes)
        if answer is None:
            raise BrokenPipeError
        reported, duration = answer[0].get("seconds"), time.monotonic() - begun
        if isinstance(reported, float):
            self._seconds += min(max(reported - self._reported_seconds, 0.0), duration)
            self._reported_seconds = reported
        else:
            self._seconds += duration
        return answer


def _input_description(entry: Input) -> dict[str, Any]:
    """Return the description of an input for the candidate's process, without its file."""
    if isinstance(entry, TensorInput):
        return {
            "name": entry.name, "dtype": entry.dtype, "shape": entry.shape,
            "strides": entry.strides, "offset": entry.offset, "storage": entry.storage,
        }  # fmt: skip
    return {"name": entry.name, "value": entry.value}


def _short_texts(value: Any) -> list[str]:
    """Return up to 20 texts of a list, cut to 200 characters each; [] for other values."""
    texts = value if isinstance(value, list) else []
    return [str(text)[:200] for text in texts[:_MOST_NOTES]]


def _results_of_answer(header: dict[str, Any], content: bytes) -> tuple[list[Result], list[bytes]]:
    """Return the results that a header describes, and the bytes of each.

    Raises:
        Malformed: the header does not describe the bytes.
    """
    entries = header.get("results")
    if not isinstance(entries, list) or len(entries) > _MOST_RESULTS:
        raise Malformed("an answer has no results, or too many")
    results, parts, byte_offset = [], [], 0
    for entry in entries:
        if not isinstance(entry, dict):
            raise Malformed("a result is not a JSON object")
        if "value" in entry:
            value = entry["value"]
            if not isinstance(value, int | float) and value is not None:
                raise Malformed("the value of a result is not a number")
            results.append(Result("", (), value=None if value is None else float(value)))
            parts.append(b"")
            continue
        dtype, shape = entry.get("dtype"), entry.get("shape")
        if dtype not in _TYPES or not isinstance(shape, list) or len(shape) > _MOST_AXES:
            raise Malformed(f"a result has an invalid type ({str(dtype)[:40]}) or too many axes")
        if not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
            raise Malformed("a result has an invalid shape")
        byte_end = byte_offset + math.prod(shape) * numpy_dtype(str(dtype)).itemsize
        if byte_end > len(content):
            raise Malformed("a result has fewer bytes than its shape needs")
        results.append(Result(str(dtype), tuple(shape)))
        parts.append(content[byte_offset:byte_end])
        byte_offset = byte_end
    if byte_offset != len(content):
        raise Malformed("an answer has bytes that belong to no result")
    return results, parts


def array_of(result: Result, folder: Path) -> np.ndarray[Any, Any]:
    """Return the elements of a result as an array; `folder` has the file of its bytes."""
    if not result.file or not result.dtype:
        return np.asarray(np.nan if result.value is None else result.value, np.float64)
    content = (folder / result.file).read_bytes()
    return np.frombuffer(content, numpy_dtype(result.dtype)).reshape(result.shape)
