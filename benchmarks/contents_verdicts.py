"""Cost of verdicts that depend on recorded contents: a loss, launched with many different targets.

    python benchmarks/contents_verdicts.py [--rows 1024] [--columns 16384] [--launches 35]

Needs the PyPI package `liger-kernel`, and no GPU: its cross entropy runs in kvtrace's evaluator. A
tenth of each launch's targets is ignored (-100). The run is recorded once; `kvtrace sanitize` of it
is a process of its own, three times: processor seconds, peak of memory, exit code and counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_PROGRAM = """
import sys
import torch
from liger_kernel.transformers.functional import liger_cross_entropy

rows, columns, launches = map(int, sys.argv[1:])
torch.manual_seed(0)
logits = torch.randn(rows, columns, device="cuda")
for _ in range(launches):
    targets = torch.randint(0, columns, (rows,), device="cuda")
    targets[torch.randperm(rows)[: rows // 10]] = -100
    liger_cross_entropy(logits.clone().requires_grad_(), targets)
"""


def main() -> None:
    """Record the launches, and print the cost of their verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 1024), ("columns", 16384), ("launches", 35)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    sizes = [str(size) for size in (options.rows, options.columns, options.launches)]
    with tempfile.TemporaryDirectory() as folder:
        program, out = Path(folder) / "loss.py", Path(folder) / "out"
        program.write_text(_PROGRAM, encoding="utf-8")
        settings = {"KVTRACE": str(out), "KVTRACE_DEVICE": "cpu", "KVTRACE_TENSORS": "int"}
        settings["KVTRACE_SANITIZE"] = "off"
        subprocess.run(
            [sys.executable, str(program), *sizes], env=os.environ | settings, check=True
        )
        for _ in range(3):
            command = [sys.executable, "-m", "kvtrace", "sanitize", str(out)]
            with (Path(folder) / "text").open("w+") as text:
                started = subprocess.Popen(command, stdout=text, stderr=text)
                _, status, used = os.wait4(started.pid, 0)
                text.seek(0)
                counts = text.read().strip().splitlines()[-1]
            code = started.returncode = os.waitstatus_to_exitcode(status)
            seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3
            print(f"{seconds:6.2f} s {megabytes:7,.0f} MB, {code}: {counts}")


if __name__ == "__main__":
    main()
