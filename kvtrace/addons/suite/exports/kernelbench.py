"""Export to KernelBench: a problem with `Model`, `get_inputs` and `get_init_inputs` for each call.

Format: the modules dataset and eval of https://github.com/ScalingIntelligence/KernelBench,
commit 423217d9fda91e0c2d67e4a43bf62f96f6d104f1.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kvtrace.addons.suite.exports.calls import Call
from kvtrace.addons.suite.exports.program import Group, identifier, program
from kvtrace.addons.suite.model import Suite

#: KernelBench has levels 1 to 4 of its own problems; its local data sets may have others.
_LEVEL: Final = 5
_MODEL: Final = '''

class Model(torch.nn.Module):
    """The recorded call of {kernel}; returns {outputs}, which it writes.

    {fixed}"""

    def __init__(self) -> None:
        super().__init__()
        for name, value in zip(PROGRAM.inputs, inputs_of(PROGRAM, 0), strict=True):
            if name in FIXED:
                self.register_buffer(FIXED[name], value)

    def forward(self, {parameters}):
        given = {{{given}}}
        given |= {{name: getattr(self, buffer) for name, buffer in FIXED.items()}}
        given |= {{name: value for name, value in PROGRAM.calls[0].arguments.items()
                  if name in PROGRAM.inputs and name not in given}}
        results = replay(PROGRAM, given)
        if isinstance(results, tuple):  # KernelBench compares one tensor
            return torch.cat([result.flatten().to(torch.float32) for result in results])
        return results


def get_inputs():
    seed = int(torch.randint(1 << 30, ()))
    values = zip(PROGRAM.inputs, inputs_of(PROGRAM, 0, seed), strict=True)
    return [value for name, value in values if name in {names!r}]


def get_init_inputs():
    return []
'''


class KernelBench:
    """Export to a level of problems that KernelBench's local data set reads."""

    summary = "problems of KernelBench, one for each call"

    def write(self, suite: Suite, calls: list[Call], output: Path) -> Iterable[str]:
        """Write a problem for each call; see `Export`."""
        level = output / f"level{_LEVEL}"
        level.mkdir()
        rows = []
        for number, call in enumerate(calls, 1):
            name = f"{number}_{identifier(call.data.kernel)}.py"
            group = Group(identifier(call.data.kernel), (call,))
            (level / name).write_text(_problem(group), encoding="utf-8")
            rows.append(f"| {name} | {call.entry.launches} | {100 * call.entry.share:.2f} |")
        (output / "README.md").write_text(_readme(suite, rows), encoding="utf-8")
        return [
            f"{call.entry.name}: float64 inputs lose bits, unless the precision is fp64"
            for call in calls
            if any(storage.read and storage.memory.dtype == "float64" for storage in call.used)
        ]


EXPORT: Final = KernelBench()


def _problem(group: Group) -> str:
    """Return a problem's file.

    KernelBench converts all inputs to one floating-point type: floats come back as they were,
    since it has more bits, and integers are buffers of the model.
    """
    call = group.calls[0]
    tensors = {storage.name: storage for storage in group.read}
    floats = [name for name in tensors if _is_float(tensors[name].memory.dtype)]
    fixed = {name: group.parameters[name] for name in tensors if name not in floats}
    text = program(group, f"{call.entry.title}\n\nA recorded call.", with_contents=True)
    return (
        text
        + f"#: Inputs that are buffers of the model.\nFIXED = {fixed!r}\n"
        + _MODEL.format(
            kernel=group.name,
            outputs=", ".join(storage.name for storage in group.written),
            fixed=f"{', '.join(fixed.values()) or 'no'}: integer inputs, as buffers.\n    ",
            parameters=", ".join(group.parameters[name] for name in floats),
            given=", ".join(f"{name!r}: {group.parameters[name]}" for name in floats),
            names=tuple(floats),
        )
    )


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _readme(suite: Suite, rows: list[str]) -> str:
    facts = "\n".join(f"- {name}: `{fact}`" for name, fact in suite.source.items())
    return f"""# Recorded kernels for KernelBench

The calls of a suite that `kvtrace suite` made of a recorded run:

{facts}

`LocalKernelBenchDataset({_LEVEL}, base_path=…)` with the path of this folder reads them. `Model`
launches the recorded kernel on new memory, whose allocation KernelBench times as well. Use the
precision fp32 (the default): inputs of fewer bits, as bfloat16, come back from it unchanged.
Results are compared with those of the recorded kernel, not with a formula.

| problem | launches | share of {suite.weighed_by}, % |
|---|---:|---:|
{chr(10).join(rows)}
"""
