"""Time and memory to derive the peak memory of a long run: a recorded run, repeated.

    python benchmarks/memory_peak.py TRACE [--launches 1000000]

Method: as memory_followed.py; TRACE is a run recorded with KVTRACE_MEMORY=on. What the profile
reads and derives for its section is done in this process, beside reading the same events alone.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from memory_followed import Repeater

from kvtrace.addons.memory.events import events_of
from kvtrace.addons.memory.peak_profile import read_peaks
from kvtrace.addons.memory.storage_lives import storage_lives
from kvtrace.schema.trace import open_trace


def main() -> None:
    """Repeat a run, derive its peak, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--launches", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        written = Repeater(open_trace(options.trace), Path(folder, "out")).write(options.launches)
        trace = open_trace(Path(folder, "out"))
        begun, processor = time.monotonic(), time.process_time()
        peaks = read_peaks(trace, trace.runs)
        seconds, processor = time.monotonic() - begun, time.process_time() - processor
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        storages = len(storage_lives(trace, trace.runs[0]))
        events_began = time.process_time()
        for _ in events_of(trace, trace.runs[0]):
            pass
        of_events = time.process_time() - events_began
    rows = ", ".join(f"{count:,} {name}" for name, count in written.items())
    print(f"{rows}, {storages:,} storages: {len(peaks)} peaks in {seconds:.1f} s by the clock,")
    print(f"{processor:.1f} s of the processor, {of_events:.1f} of them to read events, ", end="")
    print(f"at most {most:,.0f} MB")


if __name__ == "__main__":
    main()
