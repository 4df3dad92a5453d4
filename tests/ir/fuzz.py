"""Fuzzing of the IR readers: mutated IR is parsed, evaluated and judged by the clients.

test_ir_fuzz.py runs a few cases. For more: `python -m tests.ir.fuzz --count 5000 --seed 7`. It
prints each case that took too long, took too much memory or raised anything but a `KvtraceError`,
and writes its text to a folder. Cases that once failed are tests in test_ir_fuzz.py.
"""

import argparse
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from kvtrace.clients.registry import as_client
from kvtrace.clients.running import ClientPass
from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.ir import Module, parse, source_stack
from kvtrace.ir.types import FloatType, IndexType, IntegerType, PointerType
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import open_trace

ROOT = Path(__file__).parents[2]
SECONDS = 20
MEMORY = 1 << 30
_LARGEST_SEED = 20_000
_TOKEN = re.compile(r'"[^"\n]*"|[%#@!^]?[\w$.\-]+|\S')
_NUMBER = re.compile(r"(?<![\w%#^.])-?\d+(?![\w.])")
_HUGE = ("0", "-1", "1", "3", "4096", "65537", "1048576", "1048577", "2147483647", "-2147483648",
         "4294967296", "1099511627776", "9223372036854775807", "999999999999999999")  # fmt: skip
_TYPES = ("i1", "i8", "i32", "i64", "f16", "f32", "bf16", "index", "!tt.ptr<f32>", "tensor<4xi32>",
          "tensor<1099511627776xf32>", "tensor<0xf32>", "tensor<64x64xf32>", "i1024")  # fmt: skip
_GRIDS = ((1, 1, 1), (3, 1, 1), (2, 3, 1), (1, 1, 1), (4, 1, 2), (0, 1, 1), (1_000_000_000, 1, 1),
          (2**31 - 1, 1, 1), (2**31 - 1, 65535, 65535))  # fmt: skip
_SCALARS = (0, 1, 7, 16, 64, 1000, 1024, -1, 2**31 - 1, -(2**31))


def seeds() -> list[str]:
    """The IR of the kernels in the recorded fixtures, without the longest."""
    texts: dict[str, str] = {}
    for folder in ("device", "ranks", "train", "train_compiled"):
        trace = open_trace(ROOT / "tests" / "fixtures" / "h200" / folder)
        rows = trace.table("artifacts", columns=["kind", "size_bytes", "sha256"]).to_pylist()
        for row in rows:
            if row["kind"] == "ttir_generic" and row["size_bytes"] <= _LARGEST_SEED:
                texts[row["sha256"]] = (trace.artifact(row["sha256"]) or b"").decode()
    return [texts[name] for name in sorted(texts)]


def mutated(text: str, rng: random.Random) -> str:
    """Apply one to four random mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = rng.choice(_MUTATIONS)(text, rng)
    return text


def _tokens(change: Any) -> Any:
    def mutation(text: str, rng: random.Random) -> str:
        found = list(_TOKEN.finditer(text))
        if len(found) < 2:
            return text
        first, second = sorted(rng.sample(range(len(found)), 2))
        return change(text, found[first], found[second])

    return mutation


def _swap(text: str, a: re.Match[str], b: re.Match[str]) -> str:
    between = text[a.end() : b.start()]
    return text[: a.start()] + b.group() + between + a.group() + text[b.end() :]


def _lines(change: Any) -> Any:
    def mutation(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        change(lines, rng.randrange(len(lines)), rng.randrange(len(lines)))
        return "\n".join(lines)

    return mutation


def _swap_lines(lines: list[str], a: int, b: int) -> None:
    lines[a], lines[b] = lines[b], lines[a]


def _huge_number(text: str, rng: random.Random) -> str:
    return _replaced(text, rng, _NUMBER, _HUGE)


def _other_extent(text: str, rng: random.Random) -> str:
    """Replace an extent in all tensor types, so that types still agree."""
    extents = sorted(set(re.findall(r"(?<=[<x])\d+(?=x)", text)))
    if not extents:
        return text
    extent, new = rng.choice(extents), rng.choice(_HUGE).lstrip("-")
    text = re.sub(rf"(?<=[<x]){extent}(?=x)", new, text)
    return re.sub(rf"end = {extent} : i32", f"end = {new} : i32", text)


def _other_type(text: str, rng: random.Random) -> str:
    return _replaced(text, rng, re.compile(r"!tt\.ptr<\w+>|\bi\d+\b|\bf\d+\b"), _TYPES)


def _other_type_everywhere(text: str, rng: random.Random) -> str:
    old = rng.choice(("i1", "i32", "i64", "f32", "f16", "!tt.ptr<f32>"))
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", rng.choice(_TYPES), text)


def _other_op(text: str, rng: random.Random) -> str:
    names = sorted(set(re.findall(r'"(?:tt|arith|scf|math|cf)\.\w+"', text)))
    return _replaced(text, rng, re.compile(r'"\w+\.\w+"'), names or ('"tt.load"',))


def _other_operand(text: str, rng: random.Random) -> str:
    names = sorted(set(re.findall(r"%[\w#]+", text)))
    return _replaced(text, rng, re.compile(r"%[\w#]+"), names or ("%0",))


def _replaced(text: str, rng: random.Random, what: re.Pattern[str], by: Any) -> str:
    matches = list(what.finditer(text))
    if not matches:
        return text
    match = rng.choice(matches)
    return text[: match.start()] + rng.choice(by) + text[match.end() :]


def _nested(text: str, rng: random.Random) -> str:
    """Insert a deeply nested attribute, type, op or location at a random token."""
    depth = rng.choice((10, 40, 60, 400, 20_000))
    opening, middle, closing = rng.choice(
        (
            ("[", "1", "]"), ("{a = ", "1", "}"), ("!tt.ptr<", "f32", ">"), ("(", "i32", ") -> ()"),
            ('"t.o"() ({', "", "}) : () -> ()\n"), ("dense<" + "[", "1", "]"),
            ("#a.b<", "x", ">"), ("loc(callsite(", "unknown", " at unknown)"), ("<", "(", ">"),
        )
    )  # fmt: skip
    at = rng.choice(list(_TOKEN.finditer(text)) or [re.match("", text)])
    return text[: at.start()] + opening * depth + middle + closing * depth + text[at.end() :]


def _location_graph(text: str, rng: random.Random) -> str:
    """Add locations that each refer to the previous one twice: their expansion is exponential."""
    template = rng.choice(
        (
            "loc(callsite(#{0} at #{0}))", 'loc("n"(#{0}))', "loc(fused[#{0}, #{0}])",
            "loc(callsite(#{0} at #graph0))", "loc(callsite(#graph0 at #{0}))",
        )
    )  # fmt: skip
    first = rng.choice(('"k.py":1:1', "unknown"))
    lines = [f"#graph0 = loc({first})"]
    lines += [
        f"#graph{i} = {template.format(f'graph{i - 1}')}" for i in range(1, rng.choice((20, 1000)))
    ]
    rng.random() < 0.5 and lines.reverse()
    used = re.sub(r"loc\(#loc\d*\)$", f"loc(#graph{len(lines) - 1})", text, flags=re.MULTILINE)
    return "\n".join(lines) + "\n" + used


_MUTATIONS = (
    _tokens(lambda text, a, _: text[: a.start()] + text[a.end() :]),
    _tokens(lambda text, a, _: text[: a.end()] + " " + a.group() + text[a.end() :]),
    _tokens(lambda text, a, b: text[: a.start()] + b.group() + text[a.end() :]),
    _tokens(_swap),
    _lines(lambda lines, a, _: lines.pop(a)),
    _lines(lambda lines, a, b: lines.insert(b, lines[a])),
    _lines(_swap_lines),
    _huge_number,
    _huge_number,
    _other_extent,
    _other_type,
    _other_type_everywhere,
    _other_op,
    _other_operand,
    _other_operand,
    _nested,
    _location_graph,
)


def exercise(text: str, seed: int) -> str:
    """Parse, evaluate and judge a text, as commands do; return the first message, or "fine"."""
    rng = random.Random(seed)
    try:
        module = parse(text)
        for op in module.ops:
            source_stack(op)
        call = Call(0, "k", rng.choice(_GRIDS), module, _arguments(module, rng), ())
        client_pass = ClientPass([as_client(name) for name in ("tracer", "profiler", "sanitizer")])
        failure = client_pass.run(call)
        for member in client_pass.members:
            member.tables()
            if member.error is not None:
                raise member.error.__cause__ or member.error
    except KvtraceError as error:
        return str(error)
    if failure and "MemoryError" in failure:
        raise MemoryError(failure)
    return failure or "fine"


def _arguments(module: Module, rng: random.Random) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    for position, parameter in enumerate(module.main.arguments):
        kind, name = parameter.type, f"a{position}"
        if isinstance(kind, PointerType) and isinstance(kind.pointee, IntegerType | FloatType):
            count = rng.choice((0, 1, 64, 4096))
            pointee = kind.pointee
            dtype = f"i{max(8, pointee.width)}" if isinstance(pointee, IntegerType) else "fp32"
            nbytes = count * 8
            data = np.zeros(nbytes, np.uint8) if rng.random() < 0.5 else None
            dtype = dtype if dtype in ("i8", "i16", "i32", "i64", "fp32") else "i64"
            arguments.append(TensorArgument(name, Storage(nbytes, data), 0, dtype, (count,), (1,)))
        elif isinstance(kind, IntegerType | IndexType):
            arguments.append(ScalarArgument(name, rng.choice(_SCALARS)))
        else:
            arguments.append(ScalarArgument(name, 1.5 if isinstance(kind, FloatType) else None))
    return tuple(arguments)


class TooSlow(BaseException):
    """A case did not end in time."""


def case(number: int, seed: int, texts: list[str]) -> str:
    """The text of a case: the same for the same numbers."""
    rng = random.Random(f"{seed}/{number}")
    return mutated(rng.choice(texts), rng)


def run_cases(numbers: range, seed: int, seconds: int, folder: Path | None) -> Counter[str]:
    """Exercise cases one after the other; count their outcomes, failures as `FAULT …`."""

    def too_slow(_signal: int, _frame: Any) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, too_slow)
    texts = seeds()
    ended: Counter[str] = Counter()
    for number in numbers:
        text = case(number, seed, texts)
        print(f"case {number}", file=sys.stderr, flush=True)
        signal.alarm(seconds)
        try:
            outcome = _kind(exercise(text, number))
        except (Exception, TooSlow) as error:  # any of them is a defect to report
            frame = traceback.extract_tb(error.__traceback__)[-1]
            position = f"{Path(frame.filename).name}:{frame.lineno}"
            outcome = f"FAULT {type(error).__name__} at {position} ({str(error)[:80]})"
            if folder is not None:
                (folder / f"{seed}-{number}.mlir").write_text(text)
        finally:
            signal.alarm(0)
        ended[outcome] += 1
        if outcome.startswith("FAULT"):
            print(f"case {number}: {outcome}", flush=True)
    return ended


def _kind(sentence: str) -> str:
    """The first words of a message, without positions and names, as a key to count by."""
    if sentence.startswith("IR line"):
        return "IR " + " ".join(re.split(r"column \d+: ", sentence)[-1].split()[:2])
    return sentence.partition("has a defect: ")[2] or " ".join(sentence.split()[:2])


def _limit_memory() -> None:
    """Limit this process to `MEMORY` more bytes than it has now."""
    exercise(seeds()[0], 0)  # imports what all cases need
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> int:
    """Run cases in a process with limited memory; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.count)
    if options.worker:
        _limit_memory()
        ended = run_cases(numbers, options.seed, options.seconds, options.keep)
        for outcome, count in ended.most_common():
            print(f"{count:6} {outcome}")
        return int(any(outcome.startswith("FAULT") for outcome in ended))
    folder = options.keep or Path(tempfile.mkdtemp(prefix="kvtrace-ir-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"texts of faults go to {folder}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "tests.ir.fuzz", "--worker", "--keep", folder, *sys.argv[1:]],
        cwd=ROOT, check=False, stderr=subprocess.DEVNULL,
        timeout=60 + options.count * options.seconds,
    ).returncode  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
