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
    """Return what is launched for a tool; a fresh client, as each decorated kernel has one."""
    if tool == INTERPRETER:
        return kernel
    import triton_viz

    return triton_viz.trace(tool)(kernel)


def forget_earlier_launches(tool: str) -> None:
    """Drop what a tool kept, so that each launch is seen as the first of its kind."""
    if tool == INTERPRETER:
        return
    import triton_viz
    from triton_viz.clients.sanitizer import sanitizer

    triton_viz.clear()
    sanitizer._fn_symbolic_cache_set.clear()


class Peer:
    """One tool; the first request for a case is preceded by a launch of one program."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.cases = cases()
        self.warm = set[str]()

    def answer(self, request: dict[str, Any]) -> Answer:
        """Time one launch."""
        if "versions" in request:
            packages = {name: version(name) for name in PACKAGES}
            return {"python": platform.python_version(), **packages}
        case = self.cases[request["case"]]
        if case.name not in self.warm:
            self.warm.add(case.name)
            case.launch(wrapped(self.tool, case.kernel), case.arguments(), grid=(1, 1, 1))
        return self.timed_launch(case)

    def timed_launch(self, case: Case) -> Answer:
        """Launch over the whole grid and compare the result with torch's operator."""
        forget_earlier_launches(self.tool)
        arguments = case.arguments()
        runner = wrapped(self.tool, case.kernel)
        wall, processor = timed(lambda: case.launch(runner, arguments))
        wrote = bool(arguments[case.output].any())
        error = case.error(arguments) if wrote else None
        forget_earlier_launches(self.tool)
        return {"wall": wall, "processor": processor, "error": error}


def run() -> None:
    """Serve the tool that the command line names."""
    torch.set_num_threads(1)
    serve(Peer(sys.argv[1]).answer)
