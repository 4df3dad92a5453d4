"""Worker that runs Triton-Viz's sanitizer, in the peers' environment.

Imports nothing of kvtrace. Asked for {"case": name, "budget": seconds}; answers the median wall and
processor seconds of a launch over the whole grid, warm: the process has launched the kernel before,
and what the sanitizer keeps of earlier launches of a kernel is dropped before each, so that every
launch is a unique call. At a violation the sanitizer ends its process: then there is no answer.
"""

import platform
import statistics
import time
from importlib.metadata import version
from typing import Any

import torch
from evaluator_kernels import Case
from evaluator_peers import PACKAGES, forget_earlier_launches, wrapped
from evaluator_workers import Answer, serve, timed
from sanitizer_kernels import cases

SANITIZER = "sanitizer"


class Peer:
    """Worker that times Triton-Viz's sanitizer."""

    def __init__(self) -> None:
        self.cases = cases()

    def answer(self, request: dict[str, Any]) -> Answer:
        """Return median times of launches until the budget is spent, after one untimed launch."""
        if "versions" in request:
            packages = {name: version(name) for name in PACKAGES}
            return {"python": platform.python_version(), **packages}
        case = self.cases[request["case"]]
        self.launch(case)
        samples: list[tuple[float, float]] = []
        deadline = time.perf_counter() + request["budget"]
        while not samples or time.perf_counter() < deadline:
            samples.append(self.launch(case))
        walls, processors = zip(*samples, strict=True)
        return {"wall": statistics.median(walls), "processor": statistics.median(processors)}

    def launch(self, case: Case) -> tuple[float, float]:
        """Launch once, with a new sanitizer; return wall and processor seconds."""
        forget_earlier_launches(SANITIZER)
        arguments = case.arguments()
        runner = wrapped(SANITIZER, case.kernel)
        wall, processor = timed(lambda: case.launch(runner, arguments))
        forget_earlier_launches(SANITIZER)
        return wall, processor


def run() -> None:
    """Answer requests."""
    torch.set_num_threads(1)
    serve(Peer().answer)
