"""What torch.profiler says of the same run: device time by kernel, copies and fills among them."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import kvtrace


def write_reference(step: Callable[[], object], steps: int, path: Path) -> None:
    """End kvtrace's recording, run `steps` more under torch.profiler, and write the table.

    The file is JSON: `steps`; `busy_ns`, the time in which the device did anything; `span_ns`,
    from the first time that it did to the last; and `kernels`, for each name `device_ns` and
    `count`, the largest first.
    """
    torch.cuda.synchronize()
    kvtrace.stop()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    found: dict[str, dict[str, float]] = {}
    spans = []
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            row = found.setdefault(event["name"], {"device_ns": 0, "count": 0})
            row["device_ns"] += round(event["dur"] * 1000)
            row["count"] += 1
            spans.append((event["ts"], event["ts"] + event["dur"]))
    busy, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    kernels = dict(sorted(found.items(), key=lambda item: -item[1]["device_ns"]))
    path.write_text(
        json.dumps(
            {
                "steps": steps,
                "busy_ns": round(busy * 1000),
                "span_ns": round((until - min(begin for begin, _ in spans)) * 1000),
                "kernels": kernels,
            },
            indent=1,
        )
    )
