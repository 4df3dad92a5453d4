"""To be run by hand on a machine with an NVIDIA GPU: the recorder's pinned memory moves no tensor.

    python tests/gpu/check_pinned_memory.py

Runs one small program in processes of its own: without kvtrace; recorded with the contents of an
index tensor; recorded while the driver allocates the pinned memory in the first step, as kvtrace
once did; and without kvtrace, with such an allocation. Each process prints the addresses of its
tensors, of the allocator's segments and of the pinned memory, and the driver's free memory. Ends
with 1 if recorded tensors lie at other distances from the first tensor than without kvtrace, if the
pinned memory is not the process's own, or if what was copied through it is wrong.
"""

import ctypes
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

if "KVTRACE" in os.environ:  # as the autostart line does it, before the libraries
    importlib.import_module("kvtrace._boot")

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

#: The way that a process goes → how often.
WAYS = {"bare": 2, "recorded": 2, "recorded, allocated": 1, "bare, allocated": 1}
N = 512
PINNED = 16 << 20


@triton.jit
def gathered(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(index + lanes, mask=lanes < n)
    tl.store(out + lanes, tl.load(x + chosen, mask=lanes < n), mask=lanes < n)


def program(way: str) -> None:
    """Print what one process has seen, as JSON."""
    seen: dict[str, Any] = {"way": way}
    assert not torch.cuda.is_initialized()
    if way.startswith("recorded"):
        watch_pinning(seen, allocates=way.endswith("allocated"))
    tensors = [torch.zeros(size, device="cuda") for size in sizes()]  # the model
    torch.cuda.synchronize()
    seen["free before step"] = torch.cuda.mem_get_info()[0]
    index = torch.arange(N, device="cuda").flip(0)
    out = torch.empty_like(index)
    gathered[(N // 128,)](index * 3, index, out, N, BLOCK=128)
    tensors += [index, out]
    torch.cuda.synchronize()
    if way == "bare, allocated":
        allocate(seen)
    seen["free after step"] = torch.cuda.mem_get_info()[0]
    tensors += [torch.zeros(size, device="cuda") for size in sizes()]  # states of an optimizer
    torch.cuda.synchronize()
    first = tensors[0].data_ptr()
    seen["first"] = first
    seen["distances"] = [tensor.data_ptr() - first for tensor in tensors]
    segments = torch.cuda.memory_snapshot()
    seen["segments"] = sorted((one["address"] - first, one["total_size"]) for one in segments)
    seen["gathered"] = torch.equal(out.cpu(), (index * 3).cpu()[index.cpu()])
    seen["index"] = hashlib.sha256(index.cpu().numpy().tobytes()).hexdigest()
    print(json.dumps(seen))


def sizes() -> list[int]:
    """Return numbers of elements from small ones that share a segment up to a segment's own."""
    return [N << shift for shift in (0, 1, 3, 0, 5, 8, 10, 0, 11, 12, 13, 14, 0, 13, 9)]


def watch_pinning(seen: dict[str, Any], *, allocates: bool) -> None:
    """Note the recorder's pinned memory; `allocates`: the driver allocates it, as before."""
    from kvtrace.capture import copied_contents, device_copies

    pinned_memory = device_copies.pinned_memory

    def watched(size: int) -> int:
        begin = time.perf_counter_ns()
        address = pinned_memory(size)
        took = (time.perf_counter_ns() - begin) / 1e6
        seen["pinned"] = {"address": address, "size": size, "ms": round(took, 2)}
        return address

    copied_contents.pinned_memory = watched
    if allocates:
        device_copies._registered = lambda _driver, _size: 0


def allocate(seen: dict[str, Any]) -> None:
    driver, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    failed = driver.cuMemHostAlloc(ctypes.byref(memory), ctypes.c_size_t(PINNED), 1)
    assert not failed, failed
    seen["pinned"] = {"address": memory.value, "size": PINNED}


def ran(way: str, out: Path) -> dict[str, Any]:
    environment = {key: text for key, text in os.environ.items() if not key.startswith("KVTRACE")}
    if way.startswith("recorded"):
        environment["KVTRACE"] = str(out)
    done = subprocess.run(
        [sys.executable, __file__, way], env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{way}: {done.stderr}")
    sys.stderr.write(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(seen: dict[str, Any]) -> None:
    pinned = seen.get("pinned")
    text = ""
    if pinned is not None:
        how = "the process's own" if is_far(pinned) else "allocated by the driver"
        text = f"; pinned at {pinned['address']:#x} ({how}, {pinned.get('ms', '?')} ms)"
    taken = seen["free before step"] - seen["free after step"]
    layout = hashlib.sha256(json.dumps(seen["distances"]).encode()).hexdigest()[:8]
    print(
        f"{seen['way']:<20} layout {layout}, first tensor at {seen['first']:#x}, "
        f"{len(seen['segments'])} segments; the step took {taken >> 20} MiB of the GPU{text}"
    )


def is_far(pinned: dict[str, Any]) -> bool:
    """Return whether pinned memory is at addresses where the driver allocates nothing."""
    return bool(0x5000_0000_0000 <= pinned["address"] < 0x5100_0000_0000)


def copied_right(seen: dict[str, Any], out: Path) -> bool:
    """Return whether the trace has the contents of the index tensor."""
    from kvtrace.schema.trace import open_trace

    digests = open_trace(out).table("contents").column("artifact").to_pylist()
    return seen["index"] in digests


def main() -> int:
    problems = []
    by_way: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(max(WAYS.values())):
            for way in (way for way, times in WAYS.items() if turn < times):
                out = Path(folder) / f"{way}{turn}".replace(", ", "-")
                seen = ran(way, out)
                show(seen)
                by_way.setdefault(way, []).append(seen)
                if not seen["gathered"]:
                    problems.append(f"{way}: the kernel's result is wrong")
                if way.startswith("recorded") and not copied_right(seen, out):
                    problems.append(f"{way}: the index tensor's contents are not in the trace")
    for seen in by_way["recorded"]:
        pinned = seen.get("pinned")
        if pinned is None or not is_far(pinned):
            problems.append(f"pinned memory is not where it should be: {pinned}")
    layouts = {way: {tuple(one["distances"]) for one in runs} for way, runs in by_way.items()}
    for way, found in layouts.items():
        same = "as bare" if found <= layouts["bare"] else "NOT as bare"
        print(f"{way}: {len(found)} layouts in {len(by_way[way])} runs, {same}")
    if len(layouts["bare"]) > 1:
        print("bare runs differ from each other, so layouts decide nothing here")
    elif layouts["recorded"] != layouts["bare"]:
        problems.append("recorded tensors lie elsewhere than bare ones")
    print(*(f"WRONG {problem}" for problem in problems), sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(program(sys.argv[1]) if len(sys.argv) > 1 else main())
