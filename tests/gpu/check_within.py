"""To be run by hand on a machine with a GPU: lanes of one program that race, shown to be wrong.

    python tests/gpu/check_within.py [--only WORDS] [--launches N] [--device cuda|none]

Each sample of corpus/defects/within.py of one program runs as thousands of programs, each on
tensors of its own that hold the same, with several numbers of warps, many times. What each program
leaves is compared with what the program leaves in order, each op done by all lanes at once, by
kvtrace's evaluator. Beside it stands kvtrace's verdict on that launch, recorded with its TTGIR and
PTX. Planted kernels are tried with 1, 4 and 8 warps, counters with 16 as well, the others with 4
and 8.

Ends with 1 if a launch that is proven, or a sample that is labeled right, is wrong on the device.

`--device none` compiles for Hopper and prints verdicts alone.
"""

import argparse
import importlib.util
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.support.replacing import replace

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import kvtrace  # noqa: E402
from corpus.defects.within import CASES  # noqa: E402
from corpus.questions.defects import Sample, Tensor  # noqa: E402
from kvtrace.backends.compiled_kernels import generic  # noqa: E402
from kvtrace.evaluate import TensorArgument, evaluate, parsed  # noqa: E402
from kvtrace.evaluate.types import element_of_short_name  # noqa: E402
from kvtrace.recorded_calls.compiled_code import compiled_code  # noqa: E402
from kvtrace.recorded_calls.reading import calls_of  # noqa: E402
from kvtrace.recorded_calls.recorded import Call  # noqa: E402
from kvtrace.schema.trace import open_trace  # noqa: E402
from kvtrace.verdicts.judge import judge  # noqa: E402

RULE = "race-within-program"
PROGRAMS = 2048
COUNTERS = ("counted", "told", "carried")


@dataclass(frozen=True)
class Case:
    """A sample with a number of warps."""

    sample: Sample
    warps: int

    @property
    def name(self) -> str:
        return f"{self.sample.name} [{self.warps}]"


def cases(words: str) -> Iterator[Case]:
    for sample in CASES:
        if sample.grid != (1,) or words not in sample.name:
            continue
        planted = bool(sample.violations)
        numbers = (1, 4, 8) if planted else (4, 8)
        if sample.kernel.fn.__name__ in COUNTERS and planted:
            numbers = (*numbers, 16)
        for warps in numbers:
            yield Case(sample, warps)


# -- many programs, each on tensors of its own ---------------------------------------------------


def owners(sample: Sample) -> dict[str, tuple[int, str]]:
    """The storages of a sample: elements and type by the argument that owns each."""
    found: dict[str, tuple[int, str]] = {}
    for name, value in sample.arguments.items():
        if isinstance(value, Tensor):
            owner = value.shares or name
            needed = max(value.last, value.room or 0)
            found[owner] = max(found.get(owner, (0, ""))[0], needed), value.dtype
    return found


def repeated(sample: Sample, folder: Path) -> Any:
    """A kernel that runs a sample's on the part of each tensor that is its program's."""
    inner = sample.kernel.fn.__name__
    names = sample.kernel.arg_names
    sizes = owners(sample)
    head = [f"{n}: tl.constexpr" if n in sample.constexprs else n for n in names]
    given = []
    for name in names:
        value = sample.arguments.get(name)
        owner = (value.shares or name) if isinstance(value, Tensor) else ""
        given.append(f"{name} + tl.program_id(0) * {sizes[owner][0]}" if owner else name)
    text = (
        "import triton\nimport triton.language as tl\n\n"
        f"from corpus.defects.within import {inner}\n\n\n"
        f"@triton.jit\ndef many({', '.join(head)}):\n    {inner}({', '.join(given)})\n"
    )
    path = folder / f"many_{CASES.index(sample)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.many


def contents(sample: Sample) -> dict[str, np.ndarray]:
    """What each storage holds before the launch: small numbers that differ from their neighbors."""
    found = {}
    for number, (owner, (elements, dtype)) in enumerate(owners(sample).items()):
        places = np.arange(elements) + 3 * number
        numbers = 1 + (7 * places + places // 13) % 13
        found[owner] = numbers.astype(element_of_short_name(dtype).memory)
    return found


def in_order(sample: Sample) -> dict[str, np.ndarray]:
    """What one program leaves in each storage, by the evaluator."""
    held = contents(sample)
    arguments = []
    for argument in sample.bound():
        if isinstance(argument, TensorArgument):
            value = sample.arguments[argument.name]
            assert isinstance(value, Tensor)
            data = held[value.shares or argument.name].view(np.uint8)
            argument = replace(argument, storage=storage_of(argument, data, arguments))
        arguments.append(argument)
    evaluate(sample.module(), tuple(arguments), (1, 1, 1))
    return held


def storage_of(argument: Any, data: np.ndarray, before: list[Any]) -> Any:
    for other in before:
        held = other.storage.data if isinstance(other, TensorArgument) else None
        if held is not None and np.shares_memory(held, data):
            return other.storage
    return type(argument.storage)(len(data), data)


class Launched:
    """One case on the device: how often what its programs leave is not what they leave in order."""

    def __init__(self, case: Case, kernel: Any, expected: dict[str, np.ndarray]) -> None:
        self.case = case
        self._kernel = kernel
        sample = case.sample
        self._before = {
            owner: torch.from_numpy(held).cuda().repeat(PROGRAMS)
            for owner, held in contents(sample).items()
        }
        self._wanted = {owner: torch.from_numpy(held).cuda() for owner, held in expected.items()}
        self._now = {owner: held.clone() for owner, held in self._before.items()}
        self._given: dict[str, Any] = dict(sample.constexprs)
        for name, value in sample.arguments.items():
            if isinstance(value, Tensor):
                value = self._now[value.shares or name][value.offset :]
            self._given[name] = value
        self.wrong_launches = self.wrong_programs = self.launches = 0

    def launch(self) -> None:
        for owner, held in self._before.items():
            self._now[owner].copy_(held)
        self._kernel[(PROGRAMS,)](**self._given, num_warps=self.case.warps)
        wrong = torch.zeros(PROGRAMS, dtype=torch.bool, device="cuda")
        for owner, wanted in self._wanted.items():
            wrong |= (self._now[owner].view(PROGRAMS, -1) != wanted).any(1)
        count = int(wrong.sum())
        self.launches += 1
        self.wrong_launches += count > 0
        self.wrong_programs += count


# -- verdicts --------------------------------------------------------------------------------------


def worst(call: Call) -> tuple[str, str]:
    """The verdict on a call: a violation if there is one, else an unknown, and its text."""
    rank = {"violation": 0, "unknown": 1, "proven": 2}
    found = sorted(judge(call, [RULE]), key=lambda verdict: rank[verdict.verdict])
    if not found:
        return "proven", "nothing is stored"
    notes = [v.message for v in found if v.verdict == found[0].verdict]
    return found[0].verdict, max(notes, key=len)


def recorded_verdicts(folder: str, share: int, of: int) -> dict[int, tuple[str, str]]:
    trace = open_trace(folder)
    calls = [call for call in calls_of(trace, trace.runs[0]) if isinstance(call, Call)]
    calls = [call for call in calls if call.kernel == "many"]
    return {number: worst(calls[number]) for number in range(share, len(calls), of)}


def compiled_call(case: Case) -> Call:
    """The call of a sample's own kernel as it is compiled for Hopper, without a launch."""
    sample = case.sample
    names = list(sample.kernel.arg_names)
    types = dict.fromkeys(sample.constexprs, "constexpr")
    types |= {name: sample._type(name) for name in sample.arguments}
    source = ASTSource(
        fn=sample.kernel,
        signature={name: types[name] for name in names},
        constexprs={(names.index(name),): value for name, value in sample.constexprs.items()},
        attrs={
            (names.index(name),): [["tt.divisibility", 16]]
            for name, value in sample.arguments.items()
            if isinstance(value, Tensor) and not value.offset
        },
    )
    options = {"num_warps": case.warps}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    module = parsed(generic.generic_ttir(made.asm["ttir"]))
    compiled = compiled_code(module, made.asm["ttgir"], made.asm["ptx"], triton=triton.__version__)
    return replace(sample.call(), module=module, warps=case.warps, compiled=compiled)


def label_of(sample: Sample) -> str:
    return "planted" if sample.violations else "undecided" if sample.unknowns else "right"


def without_device(chosen: list[Case]) -> int:
    for case in chosen:
        answer, text = worst(compiled_call(case))
        print(f"{label_of(case.sample):9} {case.name:70} {answer:9} {text}")
    return 0


# -- all of it -------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--launches", type=int, default=30)
    parser.add_argument("--device", choices=("cuda", "none"), default="cuda")
    options = parser.parse_args()
    chosen = list(cases(options.only))
    if options.device == "none":
        return without_device(chosen)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernels = {each.sample: repeated(each.sample, folder) for each in chosen}
        expected = {sample: in_order(sample) for sample in kernels}
        out = folder / "out"
        launched = []
        with kvtrace.capture(out):
            for case in chosen:
                launched.append(Launched(case, kernels[case.sample], expected[case.sample]))
                launched[-1].launch()
        print(f"recorded after {time.perf_counter() - began:.0f} s")
        for each in launched:
            for _ in range(options.launches):
                each.launch()
        print(f"launched after {time.perf_counter() - began:.0f} s")
        verdicts: dict[int, tuple[str, str]] = {}
        jobs = 8
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            shares = [pool.submit(recorded_verdicts, str(out), n, jobs) for n in range(jobs)]
            for share in shares:
                verdicts |= share.result()
    if len(verdicts) != len(launched):
        print(f"{len(launched)} cases were launched, and {len(verdicts)} calls recorded")
        return 1
    return told(launched, verdicts, time.perf_counter() - began)


def told(launched: list[Launched], verdicts: dict[int, tuple[str, str]], seconds: float) -> int:
    failed, counts = 0, Counter[str]()
    for number, each in enumerate(launched):
        answer, text = verdicts[number]
        wrong = each.wrong_launches > 0
        device = f"wrong {each.wrong_launches}/{each.launches}" if wrong else "right"
        label = label_of(each.case.sample)
        refuted = wrong and (answer == "proven" or label == "right")
        failed += refuted
        counts[f"{label}, {answer}, {'wrong' if wrong else 'right'} on the device"] += 1
        print(
            f"{'FAILED ' if refuted else ''}{label:9} {each.case.name:66} {device:13} "
            f"({each.wrong_programs} programs)  {answer}: {text}"
        )
    for what, count in sorted(counts.items()):
        print(f"{count:4} {what}")
    print(f"{torch.cuda.get_device_name()}, Triton {triton.__version__}, {seconds:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
