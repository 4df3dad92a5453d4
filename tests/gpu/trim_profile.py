"""Makes a small fixture of a trace of torch.profiler.

    python tests/gpu/trim_profile.py rank0.pt.trace.json FIXTURE/rank0.pt.trace.json.gz

Keeps executions on the device and the calls of the driver that asked for them, as they are, and of
the head what tells of devices and clocks.
"""

import gzip
import json
import sys
from pathlib import Path

HEAD = ("schemaVersion", "deviceProperties", "distributedInfo", "displayTimeUnit",
        "baseTimeNanoseconds")  # fmt: skip
RAN = ("kernel", "gpu_memcpy", "gpu_memset")
ASKED = ("cuda_runtime", "cuda_driver")


def main(source: Path, target: Path) -> None:
    trace = json.loads(source.read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    ran = {event["args"]["correlation"] for event in events if event.get("cat") in RAN}
    kept = [
        event
        for event in events
        if event.get("cat") in (*RAN, *ASKED) and event["args"].get("correlation") in ran
    ]
    head = {key: trace[key] for key in HEAD if key in trace}
    text = json.dumps({**head, "traceEvents": kept})
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
