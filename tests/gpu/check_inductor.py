"""To be run by hand on a machine with a GPU: every Inductor launch is captured, with its IR.

    python tests/gpu/check_inductor.py [OUT]

Counts launches independently of kvtrace (through the launchers themselves), captures a compiled
model in several modes, and compares. Ends with 0 and a line of figures, or with an AssertionError.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import torch._inductor.runtime.triton_heuristics as heuristics
import triton
import triton.language as tl

import kvtrace
from kvtrace.ir import parse, source_stack
from kvtrace.schema.trace import open_trace


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def with_own_kernel(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    doubled[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return (out + 1).relu()


def fused(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x * 2 + y).softmax(-1).sum(-1)


class Counted:
    """Counts calls of `CachingAutotuner.run` that launch, beneath kvtrace's hook."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.launchers: dict[str, set[int]] = {}
        original = heuristics.CachingAutotuner.run

        def run(autotuner: Any, *args: Any, stream: Any, **kwargs: Any) -> Any:
            result = original(autotuner, *args, stream=stream, **kwargs)
            name = autotuner.inductor_meta.get("kernel_name") or autotuner.fn.__name__
            self.made[name] += 1
            self.launchers.setdefault(name, set()).add(id(autotuner.launchers[0]))
            return result

        heuristics.CachingAutotuner.run = run


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "out"
    counted = Counted()
    x = torch.randn(256, 512, device="cuda")
    y = torch.randn_like(x)
    steps = 20
    with kvtrace.capture(out):
        compiled = torch.compile(fused)
        own = torch.compile(with_own_kernel)
        dynamic = torch.compile(fused, dynamic=True)
        for step in range(steps):
            assert torch.allclose(compiled(x, y), fused(x, y), atol=1e-4)
            own(x)
            dynamic(x[: 64 + step], y[: 64 + step])
        torch.cuda.synchronize()
        graphed = torch.compile(lambda a: (a.sin() * 3).cumsum(-1), mode="reduce-overhead")
        for _ in range(5):
            graphed(x)
        torch.cuda.synchronize()
    check(out, counted)


def check(out: Path, counted: Counted) -> None:
    trace = open_trace(out)
    kernels = {
        row["kernel_id"]: row
        for row in trace.table("kernels").drop_columns(["compile_begin"]).to_pylist()
    }
    calls = {row["call_id"]: row for row in trace.table("calls").to_pylist()}
    captured: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    columns = ["call_id", "phase", "device", "stream"]
    for launch in trace.table("launches", columns=columns).to_pylist():
        kernel = kernels[calls[launch["call_id"]]["kernel_id"]]
        if kernel["origin"] == "inductor":
            captured[kernel["name"]] += launch["phase"] != "autotune"  # trials are no calls of run
            phases[launch["phase"]] += 1
            assert launch["device"] == torch.cuda.current_device()
    failures = [
        row["text"]
        for row in trace.table("messages", columns=["code", "text"]).to_pylist()
        if row["code"] in ("capture-failure", "inductor-ir", "backend-failed")
    ]
    assert not failures, failures
    assert captured == counted.made, (captured, counted.made)
    assert sum(captured.values()) > 0
    ops = 0
    inductor = [kernel for kernel in kernels.values() if kernel["origin"] == "inductor"]
    for kernel in inductor:
        stages = {stage["stage"]: stage["artifact"] for stage in kernel["stages"]}
        text = trace.artifact(stages["ttir_generic"])
        assert text is not None, kernel["name"]
        module = parse(text.decode())
        ops += len(module.ops)
        typed = [entry for entry in kernel["signature"] if entry["type"] != "constexpr"]
        assert len(module.main.arguments) == len(typed), kernel["name"]
        assert any(source_stack(op) for op in module.ops)
        assert kernel["registers"], kernel["name"]
    for call in calls.values():
        kernel = kernels[call["kernel_id"]]
        assert len(call["args"]) == len(kernel["signature"])
        assert min(call["grid_x"], call["grid_y"], call["grid_z"]) >= 1
    print(
        f"torch {torch.__version__}, triton {triton.__version__}: "
        f"{sum(captured.values())} Inductor "
        f"launches of {len(inductor)} kernels captured, as many as made; {dict(phases)}; "
        f"{ops} ops of IR read; trace in {out}"
    )


if __name__ == "__main__":
    main()
