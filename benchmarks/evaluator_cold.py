"""Worker for the first launch in a process: kvtrace is imported only after the request.

Asked for {"case": name}; answers wall and processor seconds of the launch, with all rows of `ops`,
`loops` and `accesses`, from the text of the IR on, and the error of the result. PyTorch, NumPy and
the kernels are there already, as in any program that has kernels to launch.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from evaluator_kernels import Case, cases
from evaluator_workers import Answer, serve, timed

SHORT_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def memory_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return each tensor argument's storage as a NumPy array, by argument name."""
    return {
        name: torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage()).numpy()
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor)
    }


def launch(case: Case, text: str, arguments: dict[str, Any], memory: dict[str, Any]) -> None:
    """Import kvtrace, read the IR, and evaluate the launch for the tracer and the profiler.

    Raises:
        RuntimeError: the launch could not be evaluated to its end, or a client failed.

    """
    from kvtrace.clients.profiler import Profiler
    from kvtrace.clients.running import ClientPass
    from kvtrace.clients.tracer import Tracer
    from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument, parsed
    from kvtrace.recorded_calls.recorded import Call

    evaluator_arguments: list[Argument] = []
    for name, value in arguments.items():
        if name not in memory:
            if type(value) is not int or value != 1:  # ones are compiled in
                evaluator_arguments.append(ScalarArgument(name, value))
            continue
        storage = Storage(memory[name].nbytes, memory[name])
        shape, strides = tuple(value.shape), tuple(value.stride())
        evaluator_arguments.append(
            TensorArgument(name, storage, 0, SHORT_NAMES[value.dtype], shape, strides)
        )
    together = ClientPass([Tracer(), Profiler()])
    extents = (*case.grid, 1, 1)[:3]
    name = case.kernel.fn.__name__
    failure = together.run(Call(0, name, extents, parsed(text), tuple(evaluator_arguments), ()))
    for fault in (failure, *(member.error for member in together.members)):
        if fault is not None:
            raise RuntimeError(f"{case.name}: {fault}")


def answer(request: dict[str, Any]) -> Answer:
    """Time the first launch of this process; return wall and processor seconds, and the error."""
    every = cases()
    case = every[request["case"]]
    arguments = case.arguments()
    memory = memory_of(arguments)
    text = Path(sys.argv[1], f"{list(every).index(case.name)}.mlir").read_text()
    wall, processor = timed(lambda: launch(case, text, arguments, memory))
    return {"wall": wall, "processor": processor, "error": case.error(arguments)}


def run() -> None:
    """Answer requests, with TTIR files in the folder that the command line names."""
    torch.set_num_threads(1)
    serve(answer)
