"""To be run by hand on a machine with a GPU: what the device answers to the table of questions.

    python tests/gpu/device_answers.py --out FILE.npz [--questions FILE.npz] [--workers 16]
        [--only WORDS] [--minutes 7]
    python tests/gpu/device_answers.py --out FILE.npz --merge FILE.npz FILE.npz ...

Needs Triton, torch and NumPy. The questions are those of the committed table, special and random
operands of each type and guessed corners of the language, or those of another file, as `write()` of
`tests.kernels.answers.table` makes it. Kernels are compiled and launched in several processes. A
kernel that Triton refuses has its error's first line for an answer; one that breaks its process's
context is asked again, with those that came after it, each in its own process. Prints the seconds
of compilation and launches. With `--merge` no device is asked: runs of several files become one.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.kernels.answers.question import Buffer, Question
from tests.kernels.answers.table import Answer, Run, Table, count, merged, read, write
from tests.kernels.answers.values import FORMATS, Bits

ANSWERS = Path(__file__).resolve().parents[1] / "evaluate" / "device_answers.npz"
NOT_ASKED = "not asked: no time"
REFUSED, BROKEN = "refused: ", "failed: "


@dataclass(frozen=True)
class Outcome:
    """A question's number, its answer, and the seconds of its first and second launch."""

    number: int
    answer: Answer
    first: float = 0.0
    second: float = 0.0


def _torch_types() -> dict[str, Any]:
    import torch

    return {
        "i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
        "i64": torch.int64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32,
        "u64": torch.uint64, "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2,
        "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32,
        "fp64": torch.float64,
    }  # fmt: skip


def to_device(buffer: Buffer) -> Any:
    """Return a buffer as a tensor on the device."""
    import torch

    signed = np.array(buffer.bits).view(f"i{buffer.bits.dtype.itemsize}")
    return torch.from_numpy(signed).to("cuda").view(_torch_types()[buffer.dtype])


def bits_of(tensor: Any, dtype: str) -> Bits:
    """Return a tensor's elements as bits."""
    import torch

    width = np.dtype(FORMATS[dtype].bits).itemsize
    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
    bits: Bits = tensor.view(signed).cpu().numpy().view(FORMATS[dtype].bits)
    return bits


def launched(question: Question) -> dict[str, Bits]:
    """Launch a question's kernel once; return its outputs."""
    import torch

    module, function = question.kernel.split(".")
    kernel = getattr(importlib.import_module(f"corpus.kernels.{module}"), function)
    arguments = {
        name: to_device(value) if isinstance(value, Buffer) else value
        for name, value in question.arguments.items()
    }
    kernel[(question.grid,)](**arguments, **question.constexprs, **question.options)
    torch.cuda.synchronize()
    return {
        name: bits_of(arguments[name], value.dtype)
        for name, value in question.arguments.items()
        if name in question.outputs and isinstance(value, Buffer)
    }


def asked(item: tuple[int, Question]) -> Outcome:
    """Ask one question twice: the first launch compiles, the second shows that bits repeat."""
    number, question = item
    start = time.perf_counter()
    try:
        answer = launched(question)
        middle = time.perf_counter()
        again = launched(question)
    except Exception as error:  # a refusal is an answer
        return Outcome(number, _reason(error), time.perf_counter() - start)
    end = time.perf_counter()
    unlike = [name for name, bits in answer.items() if not np.array_equal(bits, again[name])]
    if unlike:
        return Outcome(number, f"varies: {', '.join(unlike)}", middle - start, end - middle)
    return Outcome(number, answer, middle - start, end - middle)


def _reason(error: BaseException) -> str:
    import torch

    innermost = error
    while innermost.__cause__ is not None:
        innermost = innermost.__cause__
    lines = [line.strip() for line in str(innermost).splitlines() if line.strip()]
    place = -1 if type(innermost).__name__ == "CompilationError" else 0
    first = (lines or [""])[place][:160]
    accelerator = getattr(torch, "AcceleratorError", ())
    broken = isinstance(error, accelerator) or "CUDA error" in str(error) or (
        "Triton Error [CUDA]" in str(error)
    )  # fmt: skip
    return f"{BROKEN if broken else REFUSED}{type(innermost).__name__}: {first}"


def begin() -> None:
    """Prepare a process: no dumps of refused kernels; memory for descriptors made in kernels."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    import torch
    import triton

    triton.set_allocator(
        lambda size, _alignment, _stream: torch.empty(size, device="cuda", dtype=torch.int8)
    )


def answers_of(
    questions: list[Question], numbers: list[int], workers: int, per_process: int | None, end: float
) -> list[Outcome]:
    """Return what the device answers, until the time is over."""
    context = multiprocessing.get_context("spawn")
    result: list[Outcome] = []
    with context.Pool(workers, begin, maxtasksperchild=per_process) as pool:
        items = ((number, questions[number]) for number in numbers)
        outcomes = pool.imap_unordered(asked, items)
        try:
            while len(result) < len(numbers):
                result.append(outcomes.next(max(0.1, end - time.monotonic())))
                if len(result) % 250 == 0:
                    print(f"{len(result)} of {len(numbers)} answered", flush=True)
        except multiprocessing.TimeoutError:
            print(f"no time for {len(numbers) - len(result)} questions", flush=True)
            pool.terminate()
    return result


def this_run() -> Run:
    import torch
    import triton

    major, minor = torch.cuda.get_device_capability()
    return Run(
        torch.cuda.get_device_name(), f"sm_{major}{minor}", triton.__version__, torch.__version__
    )


def ask_all(questions: list[Question], workers: int, minutes: float) -> list[Answer]:
    """Ask all questions; those whose process was broken once more, apart."""
    start = time.monotonic()
    end = start + 60 * minutes
    outcomes = {each.number: each for each in answers_of(
        questions, list(range(len(questions))), workers, None, end - 60
    )}  # fmt: skip
    print(f"first pass: {time.monotonic() - start:.1f} s by the clock")
    again = [n for n, each in outcomes.items() if str(each.answer).startswith(BROKEN)]
    if again:
        print(f"asking {len(again)} questions once more, each in its own process", flush=True)
        for each in answers_of(questions, again, workers, 1, end):
            outcomes[each.number] = each
    compiled = sum(each.first - each.second for each in outcomes.values())
    launches = sum(each.second for each in outcomes.values())
    print(f"compiling {compiled:.1f} s, launches {launches:.1f} s, summed over {workers} processes")
    slowest = sorted(outcomes.values(), key=lambda each: -each.second)[:5]
    for each in slowest:
        print(
            f"  {each.second:.2f} s launch, {each.first:.2f} s first: {questions[each.number].name}"
        )
    return [
        outcomes[number].answer if number in outcomes else NOT_ASKED
        for number in range(len(questions))
    ]


def report(questions: list[Question], answers: list[Answer]) -> None:
    """Print how many questions were answered, and one line for each kind of other answer."""
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for question, answer in zip(questions, answers, strict=True):
        if isinstance(answer, str):
            reasons[answer] += 1
            examples.setdefault(answer, question.name)
    print(f"{len(questions) - reasons.total()} of {len(questions)} questions answered")
    for reason, number in reasons.most_common(60):
        print(f"{number:5} {reason}  (as {examples[reason]})")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--questions", type=Path, default=ANSWERS)
    parser.add_argument("--merge", type=Path, nargs="+")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--only", default="", help="a part of the questions' names")
    parser.add_argument("--minutes", type=float, default=7)
    options = parser.parse_args()
    if options.merge:
        table = merged(map(read, options.merge))
    else:
        questions = [
            each for each in read(options.questions).questions if options.only in each.name
        ]
        run = this_run()
        print(f"{run.name} ({run.capability}), torch {run.torch}: {len(questions)} questions")
        answers = ask_all(questions, options.workers, options.minutes)
        report(questions, answers)
        table = Table(questions, {run: answers})
    write(options.out, table)
    values = [count(table, library=library) for library in (False, True)]
    size = f"{options.out.stat().st_size:,} bytes"
    print(f"{options.out}: {size}, {values[0]:,} values of tl, {values[1]:,} of libdevice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
