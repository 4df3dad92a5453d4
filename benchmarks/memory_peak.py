"""Time and memory to derive the peak memory of a long run: a recorded run, repeated.

    python benchmarks/memory_peak.py TRACE [--launches 1000000]

Method: as memory_followed.py; TRACE is a run recorded with KVTRACE_MEMORY=on. What the profile
reads and derives for its section is done in this process, beside reading the same events alone.
"""

import resource
import time

from memory_followed import repeated_run

from kvtrace.addons.memory.events import events_of
from kvtrace.addons.memory.peak_profile import read_peaks
from kvtrace.addons.memory.storage_lives import storage_lives


def main() -> None:
    """Repeat a run, derive its peak, and print what that took."""
    with repeated_run(__doc__.split("\n", 1)[0]) as (trace, rows):
        begun, processor = time.monotonic(), time.process_time()
        peaks = read_peaks(trace, trace.runs)
        seconds, processor = time.monotonic() - begun, time.process_time() - processor
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        storages = len(storage_lives(trace, trace.runs[0]))
        events_began = time.process_time()
        for _ in events_of(trace, trace.runs[0]):
            pass
        of_events = time.process_time() - events_began
    print(f"{rows}, {storages:,} storages: {len(peaks)} peaks in {seconds:.1f} s by the clock,")
    print(f"{processor:.1f} s of the processor, {of_events:.1f} of them to read events, ", end="")
    print(f"at most {most:,.0f} MB")


if __name__ == "__main__":
    main()
