"""Workers that run in the peers' environment: Triton's interpreter and the clients of Triton-Viz.

Imports nothing of kvtrace. Asked for {"case": name}; answers wall and processor seconds of one
launch over the whole grid, and the error of its result (null where the tool computes none).
"""

import platform
import sys
from importlib.metadata import version
from typing import Any

import torch
from evaluator_kernels import Case, cases
from evaluator_workers import Answer, serve, timed

INTERPRETER = "interpreter"
PACKAGES = ("torch", "triton", "triton-viz", "numpy", "z3-solver")


def wrapped(tool: str, kernel: Any) -> Any:
    """Return `kernel` decorated for a tool, with a new client; unchanged for the interpreter."""
    if tool == INTERPRETER:
        return kernel
    import triton_viz

    return triton_viz.trace(tool)(kernel)


def forget_earlier_launches(tool: str) -> None:
    """Clear the tool's caches, so that each launch is treated as a kernel's first."""
    if tool == INTERPRETER:
        return
    import triton_viz
    from triton_viz.clients.sanitizer import sanitizer

    triton_viz.clear()
    sanitizer._fn_symbolic_cache_set.clear()


class Peer:
    """Worker for one tool; before a case's first request it launches one program."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.cases = cases()
        self.warm = set[str]()

    def answer(self, request: dict[str, Any]) -> Answer:
        """Answer a request with the time of one launch."""
        if "versions" in request:
            packages = {name: version(name) for name in PACKAGES}
            return {"python": platform.python_version(), **packages}
        case = self.cases[request["case"]]
        if case.name not in self.warm:
            self.warm.add(case.name)
            case.launch(wrapped(self.tool, case.kernel), case.arguments(), grid=(1, 1, 1))
        return self.timed_launch(case)

    def timed_launch(self, case: Case) -> Answer:
        """Return the times of a launch over the whole grid, and the error against torch."""
        forget_earlier_launches(self.tool)
        arguments = case.arguments()
        runner = wrapped(self.tool, case.kernel)
        wall, processor = timed(lambda: case.launch(runner, arguments))
        wrote = bool(arguments[case.output].any())
        error = case.error(arguments) if wrote else None
        forget_earlier_launches(self.tool)
        return {"wall": wall, "processor": processor, "error": error}


def run() -> None:
    """Answer requests with the tool that the command line names."""
    torch.set_num_threads(1)
    serve(Peer(sys.argv[1]).answer)
