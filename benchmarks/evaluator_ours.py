"""Workers that run kvtrace's evaluator and torch's own operators.

Asked for {"case": name, "what": text, "budget": seconds}; answers the median wall
and processor seconds of as many launches as fit the budget (at least three), and the error of the
result.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from evaluator_kernels import Case, cases
from evaluator_workers import Answer, serve, timed
from msgspec.structs import replace

from kvtrace.clients.profiler import Profiler
from kvtrace.clients.running import ClientPass
from kvtrace.clients.sanitizer import Sanitizer
from kvtrace.clients.tracer import Tracer
from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument, evaluate
from kvtrace.ir import Module, parse
from kvtrace.recorded_calls.recorded import Call

PACKAGES = ("torch", "triton", "numpy")
SHORT_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def ttir(case: Case) -> str:
    """Compile the case's kernel to generic TTIR, specialized on its arguments as Triton does."""
    from tests.support.compile_ttir import compile_generic

    arguments = case.arguments()
    ones = {name: 1 for name, value in arguments.items() if type(value) is int and value == 1}
    types = {name: signature_type(value) for name, value in arguments.items()}
    constexprs = {**ones, **case.constexprs}
    divisible = tuple(
        name
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor) or (type(value) is int and value % 16 == 0)
    )
    signature = types | dict.fromkeys(constexprs, "constexpr")
    return compile_generic(case.kernel, signature, constexprs, divisible_by_16=divisible)


def signature_type(value: torch.Tensor | float) -> str:
    """Return the type of an argument in a kernel's signature, as "*fp32" or "i32"."""
    if isinstance(value, torch.Tensor):
        return "*" + SHORT_NAMES[value.dtype]
    return "i32" if isinstance(value, int) else "fp32"


def bound_arguments(arguments: dict[str, Any]) -> list[Argument]:
    """Return the evaluator's arguments; storages are the tensors' own memory."""
    bound: list[Argument] = []
    for name, value in arguments.items():
        if type(value) is int and value == 1:
            continue  # compiled in
        if not isinstance(value, torch.Tensor):
            bound.append(ScalarArgument(name, value))
            continue
        raw = value.untyped_storage()
        data = torch.empty(0, dtype=torch.uint8).set_(raw).numpy()
        shape, strides = tuple(value.shape), tuple(value.stride())
        storage = Storage(raw.nbytes(), data)
        bound.append(TensorArgument(name, storage, 0, SHORT_NAMES[value.dtype], shape, strides))
    return bound


def without_data(arguments: list[Argument]) -> list[Argument]:
    """Return copies of the arguments whose contents are unknown."""
    return [
        replace(argument, storage=Storage(argument.storage.nbytes))
        if isinstance(argument, TensorArgument)
        else argument
        for argument in arguments
    ]


def observers() -> ClientPass:
    """Return the clients that fill ops, loops and accesses, as over the calls of a recorded run."""
    return ClientPass([Tracer(), Profiler()])


def judges() -> ClientPass:
    """Return the client that fills findings."""
    return ClientPass([Sanitizer()])


def observe(together: ClientPass, case: Case, module: Module, arguments: list[Argument]) -> None:
    """Let clients make their rows of a launch, which is evaluated if a client needs that.

    Raises:
        RuntimeError: the launch could not be evaluated to its end, or a client failed.

    """
    name = case.kernel.fn.__name__
    extents = (*case.grid, 1, 1)[:3]
    failure = together.run(Call(0, name, extents, module, tuple(arguments), ()))
    faults = [failure, *(member.error for member in together.members)]
    for fault in faults:
        if fault is not None:
            raise RuntimeError(f"{case.name}: {fault}")


class KvtraceWorker:
    """Worker with kvtrace's evaluator and torch's operators."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cases = cases()
        self.modules: dict[str, Module] = {}

    def text_file(self, case: Case) -> Path:
        """Return the path of the file with a case's TTIR."""
        return self.folder / f"{list(self.cases).index(case.name)}.mlir"

    def module(self, case: Case) -> Module:
        """Return the parsed TTIR of a case, which is parsed at the first call."""
        if case.name not in self.modules:
            self.modules[case.name] = parse(self.text_file(case).read_text())
        return self.modules[case.name]

    def never_evaluated(
        self, case: Case, arguments: dict[str, Any]
    ) -> tuple[Module, list[Argument]]:
        """Return the case's IR, parsed again, and new arguments, without derived facts."""
        self.modules.pop(case.name)
        return self.module(case), bound_arguments(arguments)

    def answer(self, request: dict[str, Any]) -> Answer:
        """Answer a request: compile every case, or time a launch of one case."""
        what = request["what"]
        if what == "versions":
            packages = {name: version(name) for name in PACKAGES}
            return {"python": platform.python_version(), **packages}
        if what == "compile":
            for case in self.cases.values():
                self.text_file(case).write_text(ttir(case))
            return {}
        case = self.cases[request["case"]]
        arguments = case.arguments()
        if what == "torch":
            case.operator(arguments)
            return median_of(lambda: case.operator(arguments), request["budget"]) | {"error": None}
        return self.warm(case, arguments, what, request["budget"])

    def warm(self, case: Case, arguments: dict[str, Any], what: str, budget: float) -> Answer:
        """Time launches after a first launch that is not timed."""
        bound = bound_arguments(arguments)
        module, name = self.module(case), case.kernel.fn.__name__
        hidden = without_data(bound)
        together = judges() if what == "judged" else observers()
        if what in ("observed", "judged"):
            observe(together, case, module, bound)
            error = case.error(arguments) if what == "observed" else None
            return median_of(
                lambda fresh: observe(together, case, *fresh),
                budget,
                prepare=lambda: self.never_evaluated(case, arguments),
            ) | {"error": error}
        actions: dict[str, Callable[[], Any]] = {
            "plain": lambda: evaluate(module, bound, case.grid, kernel=name),
            "observed again": lambda: observe(together, case, module, bound),
            "no data": lambda: observe(together, case, module, hidden),
        }
        action = actions[what]
        action()
        error = None if what == "no data" else case.error(arguments)
        return median_of(action, budget) | {"error": error}


def median_of(
    action: Callable[..., Any], budget: float, prepare: Callable[[], Any] | None = None
) -> Answer:
    """Return median times of an action, run at least three times and until `budget` seconds.

    The result of `prepare`, called before each time and not timed, is the action's argument.
    """
    samples: list[tuple[float, float]] = []
    deadline = time.perf_counter() + budget
    while len(samples) < 3 or (time.perf_counter() < deadline and len(samples) < 1000):
        ready = () if prepare is None else (prepare(),)
        samples.append(timed(lambda ready=ready: action(*ready)))
    walls, processors = zip(*samples, strict=True)
    return {"wall": statistics.median(walls), "processor": statistics.median(processors)}


def run() -> None:
    """Answer requests, with TTIR files in the folder that the command line names."""
    torch.set_num_threads(1)
    serve(KvtraceWorker(Path(sys.argv[1])).answer)
