"""Run as a script under any Triton, on a machine without a GPU: first launches that are autotuned.

Prints what it saw as JSON, for `tests/backends/triton/test_autotune_free.py`.
"""

import json
import sys
import threading
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.autotuner import Autotuner
from triton.testing import do_bench  # before Triton has a driver

measured: list[str] = []
hooked: list[str] = []


def configurations(*blocks: int, hook: Any = None) -> list[triton.Config]:
    return [triton.Config({"BLOCK": block}, num_warps=4, pre_hook=hook) for block in blocks]


def own_benchmark(kernel_call: Any, quantiles: Any) -> list[float]:
    del kernel_call
    measured.append("own")
    return [0.0] * len(quantiles)


def add(x, total, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 32, "so that configurations of 32 do not compile")
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def tuned(blocks: list[triton.Config], **options: Any) -> Any:
    return triton.autotune(blocks, key=["n"], **options)(triton.jit(add))


def launched(kernel: Any, times: int = 2, **given: Any) -> list[Any]:
    """Launch, and return the block that was chosen, and how often each element was added."""
    x, total = torch.ones(300), torch.full((300,), 10.0)
    for _ in range(times):
        kernel[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, total, 300, **given)
    tuner = kernel if hasattr(kernel, "best_config") else kernel.fn
    return [tuner.best_config.kwargs["BLOCK"], *total.unique().tolist()]


class ArgumentsOfThread:
    """`Autotuner.nargs` for each thread: Triton's own is shared, and threads fail on each other."""

    def __init__(self) -> None:
        self.of_thread = threading.local()

    def __get__(self, tuner: Any, owner: Any) -> Any:
        return getattr(self.of_thread, str(id(tuner)), None)

    def __set__(self, tuner: Any, arguments: Any) -> None:
        setattr(self.of_thread, str(id(tuner)), arguments)


def launched_in_threads(threads: int, sizes: tuple[int, ...]) -> list[Any]:
    """Launch one kernel first in all threads at once; return wrong results, and the kernel's type.

    All threads tune for the first size, and each for sizes of its own afterwards.
    """
    kernel, gate, wrong = tuned(configurations(64, 128, 256)), threading.Barrier(threads), []

    def launch_each(number: int) -> None:
        gate.wait()
        for n in (sizes[0], *(n + number for n in sizes)):
            x, total = torch.ones(n), torch.zeros(n)
            kernel[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](x, total, n)
            if not torch.equal(x, total):
                wrong.append([number, n])

    Autotuner.nargs = ArgumentsOfThread()
    workers = [threading.Thread(target=launch_each, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    del Autotuner.nargs
    return [wrong, type(kernel.fn).__name__]


def main() -> None:
    seen: dict[str, Any] = {}
    # The very first launch: Triton has no driver before it.
    seen["first"] = launched(tuned(configurations(128, 64, 256)))
    seen["that compiles"] = launched(tuned(configurations(32, 256, 64)))
    seen["own benchmark"] = launched(tuned(configurations(64, 128), do_bench=own_benchmark))
    seen["graph"] = launched(tuned(configurations(64, 128), use_cuda_graph=True))
    prune = {"early_config_prune": lambda configs, *_, **__: configs[1:]}
    seen["pruned"] = launched(tuned(configurations(64, 256, 128), prune_configs_by=prune))
    model = {"perf_model": lambda BLOCK, **_: -BLOCK, "top_k": 2}
    seen["by a model"] = launched(tuned(configurations(64, 256, 128), prune_configs_by=model))
    seen["cached"] = launched(tuned(configurations(64, 128), cache_results=True))
    seen["reset"] = launched(tuned(configurations(64, 128), reset_to_zero=["total"]))
    seen["restored"] = launched(tuned(configurations(64, 128), restore_value=["total"]))
    own = {
        "pre_hook": lambda *_, **__: hooked.append("pre"),
        "post_hook": lambda *_, **__: hooked.append("post"),
    }
    seen["own hooks"] = launched(tuned(configurations(64, 128), **own))
    hook = configurations(64, 128, hook=lambda given: given["total"].zero_())
    seen["hooks of a configuration"] = launched(tuned(hook))
    guessed = triton.heuristics({"BLOCK": lambda meta: 512})(triton.jit(add))
    tuner = triton.autotune([triton.Config({}, num_warps=n) for n in (4, 8)], key=["n"])(guessed)
    x, total = torch.ones(300), torch.zeros(300)
    tuner[(1,)](x, total, 300)
    seen["heuristics"] = [tuner.best_config.num_warps, *total.unique().tolist()]
    seen["hooked"], seen["measured"] = hooked, measured
    seen["in threads"] = launched_in_threads(8, (300, 400))

    calls: list[int] = []
    options = ({}, {"quantiles": [0.5, 0.2]}, {"return_mode": "all"}, {"warmup": 1, "rep": 1})
    times = [do_bench(lambda: calls.append(1), **given) for given in options]
    times.append(triton.testing.do_bench_cudagraph(lambda: calls.append(1)))
    benchmarker = triton.runtime.driver.active.get_benchmarker()
    times.append(benchmarker(lambda: calls.append(1), quantiles=(0.5, 0.2, 0.8)))
    seen["times"], seen["calls"] = times, len(calls)
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
