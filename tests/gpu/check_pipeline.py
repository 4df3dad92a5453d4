"""To be run by hand on a machine with an NVIDIA GPU: how kernels are compiled and loaded.

    python tests/gpu/check_pipeline.py

Two processes share a fresh cache: in the first kernels are compiled, in the second they come from
it. Each launches a kernel from other threads, an autotuned one, and a compiled function by
each of Inductor's launchers. Looks at the times of stages and loading, at registers and occupancy,
and at the slices of the timeline. Prints what it saw; ends with 1 if anything is not so.
"""

import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvtrace.converters.profile.device_limits import occupancy  # noqa: E402
from kvtrace.converters.timeline.drawing import timelines  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace, resolve  # noqa: E402
from tests.gpu.check_ranks import environment  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402

STAGES = ("ttir", "ttgir", "llir", "ptx", "cubin")


@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) + 1, mask=lanes < n)


@triton.autotune([triton.Config({"BLOCK": block}) for block in (256, 1024)], key=["n"])
@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def work() -> None:
    """What each process does; kvtrace is started by the variable, also in Inductor's workers."""
    x = torch.randn(1 << 16, device="cuda")
    y = torch.empty_like(x)
    n = x.numel()
    for block in (256, 512):  # each in a thread of its own
        grid = (triton.cdiv(n, block),)
        thread = threading.Thread(target=lambda g=grid, b=block: added[g](x, y, n, BLOCK=b))
        thread.start()
        thread.join()
    doubled[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    for static in (True, False):
        torch._dynamo.reset()
        names = ("use_static_triton_launcher", "use_static_cuda_launcher")  # by torch's version
        known = torch._inductor.config.get_config_copy()
        options = {name: static for name in names if name in known}
        scale = 3.0 if static else 5.0
        torch.compile(lambda t, scale=scale: (t * scale).sin(), options=options)(x)
    torch.cuda.synchronize()


def look_at(out: Path, cached: bool) -> None:
    kernels = plain_rows(open_trace(out).table("kernels"))
    for kernel in kernels:
        taken = {stage["stage"]: stage["duration_ns"] for stage in kernel["stages"]}
        stages = " ".join(f"{name} {ms(taken.get(name))}" for name in STAGES)
        found = occupancy(
            kernel["target"], kernel["num_warps"], kernel["registers"], kernel["shared_bytes"]
        )
        print(
            f"  {kernel['origin']} {kernel['name']}: cache hit {kernel['cache_hit']}, compile "
            f"{ms(kernel['compile_ns'])} ({stages}), load {ms(kernel['load_ns'])}, "
            f"{kernel['registers']} registers, {kernel['spills']} spills, {found}"
        )
        expect((kernel["load_ns"] or 0) > 0, "its loading was timed")
        expect(found is not None, "its occupancy is known")
        if kernel["origin"] == "inductor":
            told = kernel["compile_ns"] and all(taken.get(name) for name in STAGES)
            expect(cached or bool(told), "its compilation, perhaps by a worker, was timed")
            continue
        expect(kernel["cache_hit"] == cached, f"cache hit: {cached}")
        if not cached:
            expect(all(taken.get(name) for name in STAGES), "each stage was timed")
        after = (kernel["compile_begin"] or 0) + (kernel["compile_ns"] or 0)
        expect(
            (kernel["load_begin"] or 0) > after - 2_000_000, "it was loaded after it was compiled"
        )
    origins = {kernel["origin"] for kernel in kernels}
    expect(origins == {"jit", "autotune", "inductor"}, f"origins: {sorted(origins)}")
    names: list[str] = []
    for timeline in timelines(resolve(str(out))):
        for part in timeline.slices:
            if part.category == "compile":
                names += [part.captions[index].name for index in part.caption]
    loads = [name for name in names if name.startswith("load ")]
    expect(len(loads) == len(kernels), f"{len(loads)} loads drawn, {len(names)} slices in all")


def ms(nanoseconds: Any) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e6:.2f} ms"


def main() -> int:
    if len(sys.argv) > 1:
        work()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            "TRITON_CACHE_DIR": f"{folder}/triton",
            "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        }
        for cached in (False, True):
            print("from the cache" if cached else "compiled")
            out = Path(folder) / ("cached" if cached else "fresh")
            done = subprocess.run(
                [sys.executable, __file__, "work"],
                env=environment(out, "cuda") | caches,
                capture_output=True,
                text=True,
                check=False,
            )
            expect(done.returncode == 0, f"the program ended with {done.returncode}")
            if done.returncode:
                print(done.stderr[-3000:])
                continue
            look_at(out, cached)
    for problem in problems:
        print(f"WRONG: {problem}")
    print("pipeline: all as expected" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
