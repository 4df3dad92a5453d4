"""A script that launches kernels in mode ops. Arguments: the trace, and a function below."""

import os
import sys
import threading

import torch

import kvtrace
from tests.clients import kernels


def launches():
    x, y = torch.arange(1000, dtype=torch.float32), torch.zeros(1000)
    for _ in range(3):
        kernels.scale[(4,)](x, y, 1000, 0.0, BLOCK=256)
    kernels.row_sums[(6,)](x, y, 128, BLOCK=32)
    return y


def plain(out):
    with kvtrace.capture(out, mode="ops"):
        print(launches()[:6].tolist())


def forked(out):
    with kvtrace.capture(out, mode="ops"):
        launches()
        child = os.fork()
        if child == 0:
            x = torch.zeros(64)
            kernels.scale[(1,)](x, x, 64, 1.0, BLOCK=64)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


def threads(out):
    def work(size):
        x = torch.ones(size)
        for _ in range(5):
            kernels.scale[(1,)](x, torch.zeros(size), size, 1.0, BLOCK=64)

    with kvtrace.capture(out, mode="ops"):
        launches()
        workers = [threading.Thread(target=work, args=(size,)) for size in range(10, 26)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def faulty(out):
    """Run `plain` with a sanitizer that fails; the program and other clients must go on."""
    from kvtrace.verdicts.judge import Judgment

    def fail(self, failure=None):
        raise RuntimeError("on purpose")

    Judgment.verdicts = fail
    plain(out)


def unwatched(out):
    with kvtrace.capture(out, mode="ops", kernels="row_*"):
        launches()


def nothing(out):
    """Record a launch that does not run in the evaluator, as on a GPU."""
    from kvtrace.capture.records import KernelRecord

    with kvtrace.capture(out, mode="ops") as session:
        kernel = session.add_kernel(KernelRecord(name="elsewhere", origin="jit"))
        call = session.add_call(kernel, (1, 1, 1), ())
        session.add_launch(call, 1, 2)


globals()[sys.argv[2]](sys.argv[1])
