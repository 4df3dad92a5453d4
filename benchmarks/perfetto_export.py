"""Speed of conversion to a Perfetto file: kvtrace beside the protobuf builder of `perfetto`.

    python benchmarks/perfetto_export.py [--launches 3000000] [--rounds 5] [--json FILE]

Method: a trace of one run with two threads, 12 kernels and 24 unique calls of four arguments is
written with kvtrace's own writer, into a temporary folder. A round converts it, from opening the
Parquet files to the renamed output file, in this process; the first round is left out, and the
figure is the median of the others, by the wall clock. On a machine that has other work to do, the
slices per second of processor time say more. The builder makes the same packets one by one from a
smaller trace of the same kind, reading and nesting included, and its bytes are compared with ours:
they must be equal. A slice is one begin and one end with name, category, launch and 10 annotations.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kvtrace.converters.registry import load_converter
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.perfetto import encode_slices
from kvtrace.schema.trace import Selection, resolve

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.perfetto_builder import built
from tests.support.synthetic_trace import build_synthetic_trace

PACKAGES = ("numpy", "pyarrow", "perfetto", "protobuf")


def main() -> None:
    """Measure, print a table, and write the figures as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=3_000_000)
    parser.add_argument("--builder-launches", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvtrace-benchmark-") as folder:
        figures = measure(Path(folder), options.launches, options.builder_launches, options.rounds)
    print_table(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def measure(folder: Path, launches: int, builder_launches: int, rounds: int) -> dict[str, Any]:
    """Return slices per second of each converter, with sizes, machine and versions."""
    large = synthetic(folder / "large", launches)
    small = synthetic(folder / "small", builder_launches)
    rates = {
        name: median_rates(lambda name=name: convert(name, large, folder), rounds)
        for name in ("perfetto", "chrome")
    }
    rates["protobuf builder"] = median_rates(lambda: convert_with_builder(small, folder), 3)
    return {
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "launches": launches,
        "builder_launches": builder_launches,
        "load_average": os.getloadavg()[0],
        "slices_per_second": {name: wall for name, (wall, _) in rates.items()},
        "slices_per_processor_second": {name: cpu for name, (_, cpu) in rates.items()},
        "ratio": rates["perfetto"][0] / rates["protobuf builder"][0],
        "ratio_of_processor_time": rates["perfetto"][1] / rates["protobuf builder"][1],
        "bytes_per_slice": (folder / "perfetto").stat().st_size / launches,
        "identical_bytes": same_bytes(small),
    }


def synthetic(folder: Path, launches: int) -> Selection:
    """Write a trace of `launches` launches and ten special ones; return it."""
    build_synthetic_trace(folder, runs=1, launches=launches, hostile=False, device=False)
    return resolve(str(folder))


def median_rates(convert_once: Callable[[], int], rounds: int) -> tuple[float, float]:
    """Return median slices per wall second and processor second, without the first round."""
    wall, processor = [], []
    for _ in range(rounds + 1):
        begin, begin_processor = time.perf_counter(), time.process_time()
        slices = convert_once()
        wall.append(slices / (time.perf_counter() - begin))
        processor.append(slices / (time.process_time() - begin_processor))
    return statistics.median(wall[1:]), statistics.median(processor[1:])


def convert(name: str, selection: Selection, folder: Path) -> int:
    """Convert a trace with a converter of kvtrace; return the number of launches in the file."""
    output = folder / name
    output.unlink(missing_ok=True)
    reopened = resolve(str(selection.trace.path))
    load_converter(name).convert(reopened, output, {})
    return int(reopened.table("launches", ["seq"]).num_rows)


def convert_with_builder(selection: Selection, folder: Path) -> int:
    """Convert the launches of a trace with the protobuf builder; return their number."""
    reopened = resolve(str(selection.trace.path))
    count = 0
    with (folder / "builder").open("wb") as file:
        for timeline in timelines(reopened):
            for sequence, slices in enumerate(timeline.slices, 2):
                if slices.category == "launch":
                    file.write(built(slices, sequence))
                    count += slices.begin.size
    return count


def same_bytes(selection: Selection) -> bool:
    """Return whether both converters write the same bytes for the launches of a trace."""
    return all(
        b"".join(bytes(chunk) for chunk in encode_slices(slices, sequence))
        == built(slices, sequence)
        for timeline in timelines(selection)
        for sequence, slices in enumerate(timeline.slices, 2)
        if slices.category == "launch"
    )


def print_table(figures: dict[str, Any]) -> None:
    """Print the figures for people."""
    packages = ", ".join(f"{name} {version}" for name, version in figures["packages"].items())
    print(f"{figures['machine']}; Python {figures['python']}; {packages}")
    print(
        f"{figures['launches']:,} launches, builder {figures['builder_launches']:,}; "
        f"load average {figures['load_average']:.1f}"
    )
    print(f"  {'million slices':<18} {'a second':>10} {'a processor second':>20}")
    for name, rate in figures["slices_per_second"].items():
        processor = figures["slices_per_processor_second"][name]
        print(f"  {name:<18} {rate / 1e6:10.3f} {processor / 1e6:20.3f}")
    print(
        f"  perfetto over the builder: {figures['ratio']:.1f} x "
        f"({figures['ratio_of_processor_time']:.1f} x of processor time)"
    )
    print(f"  {figures['bytes_per_slice']:.0f} bytes a slice")
    print(f"  same bytes as the builder: {'yes' if figures['identical_bytes'] else 'NO'}")


if __name__ == "__main__":
    main()
