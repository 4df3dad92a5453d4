"""Export to TritonBench: an operator for the calls of a kernel.

Format: tritonbench/operators and the module tritonbench.utils.triton_op of
https://github.com/meta-pytorch/tritonbench, commit db2155c807755c19f5d98c64917ec897f24061f3.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kvtrace.addons.suite.exports.calls import Call
from kvtrace.addons.suite.exports.program import Group, given_text, groups_of, identifier, program
from kvtrace.addons.suite.model import CONTENTS, Suite

_PACKAGE: Final = "from .operator import Operator\n"
_OPERATOR: Final = '''"""Operator of the recorded calls of {kernel}."""

from tritonbench.utils.triton_op import BenchmarkOperator, register_benchmark

from .recorded import PROGRAM, inputs_of, repeated

#: What each call stands for in the recorded run, in the order of inputs: a name, and its share.
CALLS = (
{calls}
)


class Operator(BenchmarkOperator):
    """{kernel}; another kernel is a method beside `recorded`, with the same parameters."""

    DEFAULT_METRICS = ["latency", "accuracy"]
    FWD_ONLY = True

    @register_benchmark(baseline=True, fwd_only=True)
    def recorded(self, {parameters}):
        """Launch the recorded kernel."""
        return repeated(PROGRAM, {given})

    def get_x_val(self, example_inputs):
        """Return the name of the call in the suite."""
        return CALLS[self._cur_input_id][0]

    def get_input_iter(self):
        """Yield the inputs of each recorded call."""
        for index in range(len(PROGRAM.calls)):
            yield tuple(inputs_of(PROGRAM, index))
'''


class TritonBench:
    """Export to operators that TritonBench loads when they are in its folder of operators."""

    summary = "operators of TritonBench, one for each kernel"

    def write(self, suite: Suite, calls: list[Call], output: Path) -> Iterable[str]:
        """Write a folder for each group of calls; see `Export`."""
        rows = []
        for group in groups_of(calls):
            name = f"recorded_{group.name.strip('_')}"
            _write_operator(group, output / name)
            rows.append(f"| {name} | {len(group.calls)} | {100 * group.share:.2f} |")
        (output / "README.md").write_text(_readme(suite, rows), encoding="utf-8")
        return ()


EXPORT: Final = TritonBench()


def _write_operator(group: Group, output: Path) -> None:
    output.mkdir()
    kernel = group.calls[0].data.kernel
    calls = (f"    ({call.entry.name!r}, {call.entry.share:.4f})," for call in group.calls)
    text = program(group, f"Recorded calls of {kernel}: needs torch and Triton only.")
    (output / "recorded.py").write_text(text, encoding="utf-8")
    source = group.calls[0].source
    if source:  # for readers
        (output / "recorded_source.py").write_text(source, encoding="utf-8")
    (output / "__init__.py").write_text(_PACKAGE, encoding="utf-8")
    (output / "operator.py").write_text(
        _OPERATOR.format(
            kernel=identifier(kernel),
            calls="\n".join(calls),
            parameters=", ".join(group.parameters.values()),
            given=given_text(group),
        ),
        encoding="utf-8",
    )
    for call in group.calls:
        for memory in call.data.storages.values():
            if memory.contents is not None:
                (output / CONTENTS).mkdir(exist_ok=True)
                shutil.copy(call.contents_file(memory.contents), output / CONTENTS)


def _readme(suite: Suite, rows: list[str]) -> str:
    facts = "\n".join(f"- {name}: `{fact}`" for name, fact in suite.source.items())
    return f"""# Recorded kernels for TritonBench

The calls of a suite that `kvtrace suite` made of a recorded run:

{facts}

Copy or link the folders into `tritonbench/operators/`, and run `python run.py --op NAME`. The
baseline is the recorded kernel. Memory is allocated before the timed launches; what the kernel
updates in place is restored before each, within the time.

| operator | calls | share of {suite.weighed_by}, % |
|---|---:|---:|
{chr(10).join(rows)}
"""
