"""Processes of benchmarks/evaluator.py: each is one tool and times the launches that it is asked.

A worker reads requests from standard input, one JSON object a line, and answers on standard output,
one JSON object a line. Between requests it sleeps, so that workers take turns on a processor.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

#: Set for every process of the benchmark.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}

Answer = dict[str, Any]


def timed(action: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall and processor seconds that an action takes."""
    begin, begin_processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - begin, time.process_time() - begin_processor


def serve(answer: Callable[[dict[str, Any]], Answer]) -> None:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what tools print must not mix with the answers
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()
