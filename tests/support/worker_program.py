"""A program that has Inductor's worker process compile a kernel, and prints what is known of it."""

import json
import os
from dataclasses import asdict

import triton
import triton.language as tl


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def compile_it() -> tuple[str, int]:
    """Compile, as Inductor's workers do; the kernel's hash, and the worker's process id."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(doubled, signature, {(3,): 128})
    return str(triton.compile(source, target=GPUTarget("cuda", 90, 32)).hash), os.getpid()


def main() -> None:
    from torch._inductor.compile_worker.subproc_pool import SubprocPool

    from kvtrace.backends.compiled_kernels import handed_over
    from tests.support import worker_program

    out = os.environ["KVTRACE"]
    pool = SubprocPool(1)
    cache_key, worker = pool.submit(worker_program.compile_it).result()
    pool.shutdown()
    found = handed_over.take(out, cache_key)
    again = handed_over.take(out, cache_key)
    handed_over.clear(out)
    told = {"found": found and asdict(found), "again": again, "worker": worker, "own": os.getpid()}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
