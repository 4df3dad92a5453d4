"""What a candidate's cases give: results of launches that are evaluated here, then judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.candidates.comparing import EPSILON, Compared, compared, numpy_dtype
from kvtrace.candidates.inputs import Case
from kvtrace.candidates.launches import (
    Memory,
    launches_in,
    poisoned,
    run_launches,
    same_elements,
)
from kvtrace.candidates.narrow import narrow_sums, uses_tf32
from kvtrace.candidates.reference import Expected
from kvtrace.candidates.request import CannotJudge, Request
from kvtrace.ir import Op, source_stack


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, or cannot be told, with where and what to do.

    `severity`: error (the candidate is wrong), warning, note, or unjudged (no verdict is possible).
    """

    rule: str
    severity: str
    message: str
    hint: str = ""
    case: str | None = None
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass
class Examined:
    """All that the examiner found."""

    problems: list[Problem] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    generic: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)


class Outputs:
    """Compares the results of cases, and gathers what is found."""

    def __init__(self, request: Request, inputs: Path, child: Path, found: Examined) -> None:
        self._request = request
        self._inputs = inputs
        self._child = child
        self._found = found
        self._told: set[tuple[str, str | None, int | None]] = set()
        self._by_kind: dict[str, tuple[list[NDArray[Any]], Expected | None]] = {}
        self._independent: set[tuple[int, str]] = set()
        self._first: dict[tuple[int, str], str] | None = None
        self._narrow: list[Op] = []
        self._tf32 = False
        self._hosted: list[tuple[str, str]] = []
        self._waiting: tuple[tuple[int, str] | None, str, str] | None = None

    def case(self, case: Case, entries: Sequence[Mapping[str, Any]], want: Expected | None) -> None:
        """Judge one case."""
        record: dict[str, Any] = {"case": case.label, "kind": case.kind, "launches": 0}
        self._found.cases.append(record)
        launches = list(launches_in(entries))
        record["launches"] = len(launches)
        raised = next((str(e["raised"]) for e in entries if "raised" in e), None)
        returned = next((e["returned"] for e in entries if "returned" in e), None)
        if raised is not None:
            self._raised(case, raised, record)
            return
        if returned is None:
            text = "the log does not tell what the candidate returned"
            self._add("cannot-judge", "unjudged", text, case=case.label)
            return
        target = self._request.target
        memory = run_launches(case, launches, self._inputs, self._child, target)
        self._look_at(memory)
        if memory.reason is not None:
            self._add("cannot-judge", "unjudged", memory.reason, case=case.label)
            return
        self._modified(case, entries, memory, want)
        self._contents(case, memory, want)
        if not launches:
            self._add(
                "not-launched", "error", "no kernel is launched: the results are not a kernel's",
                "launch the kernel for all sizes, or raise an error", case=case.label,
            )  # fmt: skip
            return
        results = self._results(case, returned, memory, want)
        if results is None:
            return
        self._by_kind.setdefault(case.kind, (results, want))
        if want is not None:
            record["results"] = self._compare(case, results, memory, want, returned)
        else:
            self._unwritten(case, results, memory, returned)

    def whole(self) -> None:
        """Judge what several cases show together."""
        given, values = self._by_kind.get("given"), self._by_kind.get("values")
        if given and values and given[0] and len(given[0]) == len(values[0]):
            pairs = zip(given[0], values[0], strict=True)
            same = all(np.array_equal(*pair, equal_nan=pair[0].dtype.kind == "f") for pair in pairs)
            if same and not _same_expected(given[1], values[1], self._inputs):
                self._add(
                    "constant-result", "error",
                    "the results are the same whatever the inputs hold",
                    "compute them from the inputs",
                )  # fmt: skip
        for op in self._narrow:
            self._add(
                "narrow-sum", "warning",
                "a sum over many elements is kept in 16 bits, and loses more with each addition",
                "accumulate in float32, and cast once at the end", op=op,
            )  # fmt: skip
        for what, label in self._hosted[:1]:
            severity = "warning" if self._request.trust_host else "unjudged"
            self._add(
                "host-computed", severity, what,
                "compute it in a kernel, or judge with --trust-host, which believes the "
                "candidate's process for what PyTorch computes in it", case=label,
            )  # fmt: skip

    def _raised(self, case: Case, what: str, record: dict[str, Any]) -> None:
        record["refused"] = what
        asked = case.kind in ("given", "values")
        self._add(
            "raises", "error" if asked else "note",
            f"the candidate {'fails on' if asked else 'refuses'} {case.label}: {what}",
            "" if asked else "if it should take such inputs, let it", case=case.label,
        )  # fmt: skip

    def _look_at(self, memory: Memory) -> None:
        for module in memory.modules.values():
            self._tf32 = self._tf32 or uses_tf32(module)
            for op in narrow_sums(module):
                if all(source_stack(op) != source_stack(known) for known in self._narrow):
                    self._narrow.append(op)

    def _contents(self, case: Case, memory: Memory, want: Expected | None) -> None:
        """Note contents that neither kernels nor inputs gave, unless no input's value matters."""
        if self._first is None:
            self._first = memory.contents
        elif case.kind == "values":
            pairs = memory.contents.items()
            self._independent |= {key for key, digest in pairs if self._first.get(key) == digest}
        names = {key[1]: key for key in memory.contents}
        for name, values in memory.from_host.values():
            if want is not None and self._solves(values, want):
                self._add(
                    "computed-on-host", "error",
                    f"the argument {name} holds the result before a kernel is launched",
                    "compute the result in a kernel", case=case.label,
                )  # fmt: skip
            elif names.get(name) not in self._independent:
                text = f"what the argument {name} holds was computed by no kernel"
                self._pending(text, case, names.get(name))

    def _solves(self, values: NDArray[Any], want: Expected) -> bool:
        """Whether contents that no kernel wrote are a result already."""
        for exact, own in zip(want.exact, want.own, strict=True):
            truth, mine = _array(self._inputs, exact), _array(self._inputs, own)
            if values.size == truth.size and own["dtype"] in EPSILON and truth.size > 1:
                flat = values.astype(np.float64)
                told = compared(0, flat, truth.ravel(), mine.ravel(), own["dtype"], tf32=False)
                if not told.wrong:
                    return True
        return False

    def _pending(self, text: str, case: Case, key: tuple[int, str] | None) -> None:
        if case.kind == "given":  # the case with other values tells whether it depends on them
            self._waiting = (key, text, case.label)
            return
        waiting = self._waiting
        if waiting is not None and waiting[0] not in self._independent:
            self._hosted.append((waiting[1], waiting[2]))
        self._hosted.append((text, case.label))

    def _modified(
        self, case: Case, entries: Sequence[Mapping[str, Any]], memory: Memory,
        want: Expected | None,
    ) -> None:  # fmt: skip
        meant = set() if want is None else set(want.changed)
        by_host = {str(n) for e in entries for n in e.get("changed", ())}
        written = [e for e in entries if e.get("returned") == []]
        for number, tensor in enumerate(case.tensors):
            before = np.frombuffer((self._inputs / tensor.file).read_bytes(), np.uint8)
            changed = not np.array_equal(before, memory.held[number]) or tensor.name in by_host
            if changed and tensor.name not in meant and not (want is None and written):
                self._add(
                    "input-modified", "error",
                    f"the input {tensor.name} is written to, and the reference leaves it alone",
                    "write to a tensor of its own", case=case.label,
                    op=memory.written_by.get(number),
                )  # fmt: skip

    def _results(
        self, case: Case, returned: Any, memory: Memory, want: Expected | None
    ) -> list[NDArray[Any]] | None:
        results: list[NDArray[Any]] = []
        if not returned:
            names = [tensor.name for tensor in case.tensors]
            changed = [n for n in names if want is not None and n in want.changed]
            if want is None:
                changed = [n for at, n in enumerate(names) if at in memory.written_by]
            for name in changed:
                tensor = case.tensors[names.index(name)]
                view = {**asdict(tensor), "storage": names.index(name)}
                results.append(memory.view(view))
            if not results:
                self._add(
                    "returns-nothing", "error", "nothing is returned, and no input written to",
                    "return the results", case=case.label,
                )  # fmt: skip
                return None
            return results
        for at, each in enumerate(returned):
            if "storage" in each:
                results.append(memory.view(each))
                continue
            if "content" not in each:
                results.append(np.asarray(each.get("value"), np.float64))
                self._hosted.append((f"result {at} is a number that no kernel wrote", case.label))
                continue
            values = _content(self._child, each)
            if not same_elements(values, memory):
                what = f"result {at} was computed by PyTorch after the last launch"
                self._hosted.append((what, case.label))
            results.append(values)
        return results

    def _compare(
        self, case: Case, results: Sequence[NDArray[Any]], memory: Memory, want: Expected,
        returned: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        if len(results) != len(want.own):
            self._add(
                "result-count", "error",
                f"{len(results)} results are returned, and {len(want.own)} by the reference",
                "return what the reference returns, in its order", case=case.label,
            )  # fmt: skip
            return []
        told = []
        for at, got in enumerate(results):
            own, exact = _array(self._inputs, want.own[at]), _array(self._inputs, want.exact[at])
            dtype = _dtype_of(got)
            if got.shape != own.shape:
                self._add(
                    "result-shape", "error",
                    f"result {at} has the shape {list(got.shape)}, not {list(own.shape)}",
                    "return the shape that the reference returns", case=case.label,
                )  # fmt: skip
                continue
            if dtype != want.own[at]["dtype"]:
                self._add(
                    "result-type", "warning",
                    f"result {at} is {dtype}, and {want.own[at]['dtype']} by the reference",
                    "return the reference's type", case=case.label,
                )  # fmt: skip
            op = self._writer(at, returned, memory)
            blank = poisoned(got, dtype)
            if blank.any():
                self._blank(at, case, blank, op)
            else:
                each = compared(at, got, exact, own, dtype, tf32=self._tf32)
                told.append(asdict(each))
                if each.wrong:
                    self._wrong(case, each, op)
        return told

    def _unwritten(
        self, case: Case, results: Sequence[NDArray[Any]], memory: Memory, returned: Any
    ) -> None:
        for at, got in enumerate(results):
            blank = poisoned(got, _dtype_of(got))
            if blank.any():
                self._blank(at, case, blank, self._writer(at, returned, memory))

    def _writer(self, at: int, returned: Any, memory: Memory) -> Op | None:
        number = returned[at].get("storage") if at < len(returned) else None
        return memory.written_by.get(-1 if number is None else int(number))

    def _blank(self, at: int, case: Case, blank: NDArray[np.bool_], op: Op | None) -> None:
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(blank)), blank.shape))
        self._add(
            "never-written", "error",
            f"{int(blank.sum()):,} of {blank.size:,} elements of result {at} are never written, "
            f"the first at {list(first)}",
            "let the grid and the masks reach every element", case=case.label, op=op,
        )  # fmt: skip

    def _wrong(self, case: Case, each: Compared, op: Op | None) -> None:
        where = f", {each.axis}" if each.axis else ""
        hint = "compare the kernel's masks with the sizes" if each.axis else "see the case's inputs"
        if self._narrow and not each.axis:
            hint = "accumulate in float32: a sum is kept in 16 bits"
        elif case.kind == "view":
            hint = "use the strides of the input, call .contiguous(), or refuse such inputs"
        self._add(
            "wrong-result", "error",
            f"{each.wrong:,} of {each.elements:,} elements of result {each.result} are wrong"
            f"{where}: at {list(each.first)} {_number(each.got)} in place of "
            f"{_number(each.expected)}; error {_number(each.error)} where it is worst, allowed "
            f"there {_number(each.allowed)}",
            hint, case=case.label, op=op,
        )  # fmt: skip

    def _add(
        self, rule: str, severity: str, message: str, hint: str = "", *, case: str | None = None,
        op: Op | None = None,
    ) -> None:  # fmt: skip
        frames = source_stack(op) if op is not None else ()
        place = frames[0] if frames else None
        key = (rule, place.file if place else None, place.line if place else None)
        if key in self._told and severity != "note":
            return  # one case shows it
        self._told.add(key)
        self._found.problems.append(
            Problem(
                rule, severity, message, hint, case,
                place.function if place else None,
                place.file if place else None,
                place.line if place else None,
                place.column if place else None,
            )
        )  # fmt: skip


def _number(value: float | None) -> str:
    return "NaN or infinity" if value is None else f"{value:.6g}"


def _same_expected(first: Expected | None, second: Expected | None, folder: Path) -> bool:
    """Whether the reference, too, gives the same for both; False where there is none."""
    if first is None or second is None:
        return False
    pairs = zip(first.own, second.own, strict=False)
    files = ((folder / str(a["file"]), folder / str(b["file"])) for a, b in pairs)
    return all(one.read_bytes() == other.read_bytes() for one, other in files)


def _array(folder: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    content = (folder / str(entry["file"])).read_bytes()
    return np.frombuffer(content, numpy_dtype(str(entry["dtype"]))).reshape(entry["shape"])


def _content(folder: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    digest = str(entry["content"])
    if not digest.isalnum():
        raise CannotJudge("the log of launches names a file that is none of ours")
    content = (folder / f"content-{digest}").read_bytes()
    return np.frombuffer(content, numpy_dtype(str(entry["dtype"]))).reshape(entry["shape"])


def _dtype_of(values: NDArray[Any]) -> str:
    return str(values.dtype)
