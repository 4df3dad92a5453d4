"""A program that imports modules anew, forks, and records memory before and after."""

import os
import signal
import sys
from unittest import mock

import torch

import kvtrace


def record(folder):
    kvtrace.start(folder)
    with kvtrace.mark("step"):
        torch.ones(3) + 1
    kvtrace.stop()


out = sys.argv[1]
for name in "first", "second":
    with mock.patch.dict(sys.modules):  # as a test's fixture does
        record(f"{out}/{name}")
child = os.fork()
signal.alarm(60)
if child == 0:
    record(f"{out}/child")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("forked")
