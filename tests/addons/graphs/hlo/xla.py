"""XLA on CPU, through jaxlib: StableHLO text is verified, compiled and run, in its own process."""

import atexit
import pickle
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.support.tiers import unnoted


class XlaError(AssertionError):
    """XLA refuses a module, or fails to run it."""


@cache
def process():
    """The process with XLA's client, which ends with the tests."""
    program = Path(__file__).with_name("xla_process.py")
    pipe = subprocess.PIPE
    with unnoted():  # started once, by whichever test asks first
        started = subprocess.Popen([sys.executable, str(program)], stdin=pipe, stdout=pipe)
    atexit.register(started.stdin.close)
    return started


def asked(name, *arguments):
    worker = process()
    content = pickle.dumps((name, arguments))
    worker.stdin.write(len(content).to_bytes(8) + content)
    worker.stdin.flush()
    size = worker.stdout.read(8)
    if not size:
        process.cache_clear()
        raise XlaError(f"the process of XLA ended with {worker.wait()} in {name}")
    good, answer = pickle.loads(worker.stdout.read(int.from_bytes(size)))
    if not good:
        raise XlaError(answer)
    return answer


def run(text, *arrays):
    """The module's results, given its arguments."""
    return asked("run", text, arrays)


def run_replicas(text, inputs):
    """Results of each replica, given the inputs of each; up to four."""
    return asked("run_replicas", text, inputs)


def verified(text):
    """The module as jaxlib's bindings read, verify and print it."""
    return asked("verified", text)


def hlo_text(text):
    """The module as XLA's HLO text."""
    return asked("hlo_text", text)


def aliases(text):
    """Which argument each result is written into, as XLA reads the module: {result: argument}."""
    header = hlo_text(text).splitlines()[0]
    match = re.search(r"input_output_alias=\{(.*?)\}, entry", header)
    pairs = re.findall(r"\{(\d*)\}: \((\d+)", match.group(1)) if match else []
    return {int(result or 0): int(argument) for result, argument in pairs}
