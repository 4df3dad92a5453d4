"""To be run by hand on a machine with two NVIDIA GPUs: ranks of one job in one trace.

    python tests/gpu/check_ranks.py [--folder DIR] [--device cuda|cpu]

Runs tests/gpu/rank_training.py under kvtrace: by torchrun, by torchrun with rank 1 killed by
SIGKILL in the middle, and by multiprocessing (spawn and fork with ranks, and processes that do not
know each other). Looks at groups, ranks, joined kernels, the collectives' kernels, the clocks of
the ranks, and the Perfetto file. Prints what it saw; ends with 1 if anything is not as it should
be. `--device cpu` tries this program without a GPU: launches are evaluated then, in mode launch.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kvtrace.converters.timeline.perfetto import CONVERTER  # noqa: E402
from kvtrace.schema.recovery import recover  # noqa: E402
from kvtrace.schema.runs import plain_rows  # noqa: E402
from kvtrace.schema.trace import open_trace, resolve  # noqa: E402
from tests.gpu.expectations import expect, problems  # noqa: E402

PROGRAM = ROOT / "tests" / "gpu" / "rank_training.py"
KERNELS = ("squared_relu", "squared_relu_backward")
STEPS = 100


def command(*arguments: str, torchrun: bool = False) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return [sys.executable, *(launcher if torchrun else ()), str(PROGRAM), *arguments]


def environment(out: Path, device: str) -> dict[str, str]:
    """Record by the variable alone, as after installation: Python reads the autostart line."""
    start = out.parent / "autostart"
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text((ROOT / "kvtrace.pth").read_text())
    paths = [str(start), str(ROOT), os.environ.get("PYTHONPATH", "")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KVTRACE")}
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
    return (
        kept
        | hidden
        | {
            "KVTRACE": str(out),
            "KVTRACE_MODE": "timeline" if device == "cuda" else "launch",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "OMP_NUM_THREADS": "1",
        }
    )


def finished(out: Path, device: str, *arguments: str, torchrun: bool = False) -> bool:
    """Run the program to its end; say what it said if it failed."""
    begin = time.monotonic()
    done = subprocess.run(
        command(*arguments, torchrun=torchrun),
        env=environment(out, device),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    took = time.monotonic() - begin
    expect(done.returncode == 0, f"the program ended with {done.returncode} after {took:.0f} s")
    if done.returncode or "kvtrace:" in done.stderr:
        print(done.stdout[-1500:], done.stderr[-3000:])
    return done.returncode == 0


def look_at(out: Path, device: str, ranks: bool = True, sealed: bool = True) -> dict[int, Any]:
    """Check what holds for every job; the tables of each rank."""
    trace = open_trace(out)
    runs = trace.select()
    expect(
        len(trace.runs) == 2, f"{len(trace.runs)} runs, one for each rank, none for the launcher"
    )
    expect(len(runs) == 2, f"all in one group: {sorted({str(run.group_id) for run in trace.runs})}")
    expect([run.sealed for run in runs] == [sealed] * len(runs), f"sealed: {sealed}")
    if ranks:
        seen = sorted((run.rank, run.world_size) for run in runs)
        expect(seen == [(0, 2), (1, 2)], f"rank and world size: {seen}")
    found = {}
    for place, run in enumerate(runs):
        tables = {
            name: plain_rows(trace.table(name, (run,)))
            for name in ("launches", "gpu_kernels", "messages", "kernels", "calls")
        }
        tables["run"] = run
        number = run.rank if ranks else place
        found[number] = tables
        print(f"  rank {number}: {run.run_id} mode {run.mode}, {len(tables['launches'])} launches")
        for message in tables["messages"]:
            print(f"      {message['level']} {message['code']}: {message['text']}")
        if device == "cuda":
            look_at_kernels(number, tables, ranks and sealed)
    return found


def look_at_kernels(rank: int, tables: dict[str, Any], own_device: bool) -> None:
    ran = tables["gpu_kernels"]
    ours = [row for row in ran if row["name"] in KERNELS]
    joined = [row for row in ours if row["launch_seq"] is not None]
    collective = Counter(row["name"] for row in ran if "nccl" in (row["name"] or "").lower())
    expect(tables["run"].mode == "timeline", f"rank {rank} recorded in mode timeline")
    share = len(joined) / max(len(ours), 1)
    expect(
        bool(ours) and share >= 0.99,
        f"rank {rank}: {len(ran)} kernels, {len(ours)} of ours, {len(joined)} joined",
    )
    devices = {row["device"] for row in ran}
    if own_device:
        expect(devices == {rank}, f"rank {rank} ran on device {sorted(devices)}")
    if tables["run"].world_size:
        expect(bool(collective), f"rank {rank} collectives: {dict(collective)}")
    null = [row for row in ran if "nccl" in (row["name"] or "").lower() and row["launch_seq"]]
    expect(not null, "no collective is joined to a launch")


def by_torchrun(folder: Path, device: str) -> None:
    print("torchrun, two ranks, to the end")
    out = folder / "torchrun"
    if not finished(out, device, str(STEPS if device == "cuda" else 5), torchrun=True):
        return
    tables = look_at(out, device)
    counts = {rank: len(found["launches"]) for rank, found in tables.items()}
    expected = 2 * (STEPS if device == "cuda" else 5)
    expect(set(counts.values()) == {expected}, f"launches of each rank: {counts}")
    if device == "cuda":
        for rank, found in tables.items():
            ours = [row for row in found["gpu_kernels"] if row["name"] in KERNELS]
            expect(len(ours) == expected, f"rank {rank}: {len(ours)} of {expected} ran")
        look_at_clocks(tables)
    look_at_perfetto(out, collectives=device == "cuda")


def look_at_clocks(tables: dict[int, Any]) -> None:
    """The ends of one collective on both ranks lie close together: they share a clock."""
    ends = [
        [
            row["end"]
            for row in sorted(tables[rank]["gpu_kernels"], key=lambda row: row["start"])
            if "AllReduce" in row["name"]
        ]
        for rank in (0, 1)
    ]
    expect(len(ends[0]) == len(ends[1]), f"all-reduces: {len(ends[0])} and {len(ends[1])}")
    apart = [b - a for a, b in zip(*ends, strict=False)]
    if not apart:
        return
    middle, widest = statistics.median(apart), max(map(abs, apart))
    text = f"one all-reduce ends {middle / 1e3:+.1f} µs later on rank 1 (median), at most "
    expect(abs(middle) < 200_000, f"{text}{widest / 1e3:.0f} µs apart")


def by_torchrun_with_a_kill(folder: Path, device: str) -> None:
    print("torchrun, rank 1 killed by SIGKILL")
    out = folder / "killed"
    process = subprocess.Popen(
        command("1000000", torchrun=True),
        env=environment(out, device),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    begun, killed = None, False
    for line in process.stdout:
        words = line.split()
        if len(words) != 6 or words[:2] != ["rank", "1"]:
            continue
        begun = begun or time.monotonic()
        if not killed and time.monotonic() - begun > 4:
            os.kill(int(words[3]), signal.SIGKILL)
            killed = True
            print(f"    killed rank 1 after its step {words[5]}")
    code = process.wait(timeout=120)
    expect(killed and code != 0, f"torchrun ended with {code}")
    tables = look_at(out, device, sealed=False)
    for rank, found in tables.items():
        expect(len(found["launches"]) > 20, f"rank {rank} kept {len(found['launches'])} launches")
    look_at_perfetto(out, collectives=device == "cuda")
    recovered = recover(out)
    expect(len(recovered.sealed) == 2, f"recovered: {recovered.sealed} {recovered.left}")
    after = look_at(out, device)
    endings = {rank: found["run"].ending for rank, found in after.items()}
    expect(
        endings == {0: "signal", 1: "killed"}, f"ended by torchrun's SIGTERM, and killed: {endings}"
    )
    for rank, found in after.items():  # the killed rank's last launches come from its spool
        before, recovered_count = len(tables[rank]["launches"]), len(found["launches"])
        expect(
            recovered_count >= before,
            f"rank {rank}: {before} launches, recovered {recovered_count}",
        )


def by_multiprocessing(folder: Path, device: str, method: str) -> None:
    print(f"multiprocessing: {method}")
    out = folder / method
    if finished(out, device, "20", "--start", method):
        look_at(out, device, ranks=method != "processes")


def look_at_perfetto(out: Path, collectives: bool) -> None:
    target = out.parent / f"{out.name}.perfetto-trace"
    done = CONVERTER.convert(resolve(str(out)), target, {})
    processes, names = perfetto_contents(target.read_bytes())
    print(f"    {'; '.join(done.notes)}; {target.stat().st_size:,} bytes")
    expect(
        sorted(name.split(" · ")[0] for name in processes) == ["rank 0", "rank 1"],
        f"Perfetto's processes: {processes}",
    )
    expect(set(KERNELS) <= names, "our kernels are drawn")
    if collectives:
        drawn = sorted(name for name in names if "nccl" in name.lower())
        expect(bool(drawn), f"collectives are drawn: {drawn}")


def perfetto_contents(content: bytes) -> tuple[list[str], set[str]]:
    """Names of processes and of events in a Perfetto trace, read field by field."""
    processes, names = [], set()
    for packet in values(content, 1):
        for described in values(packet, 60):  # TrackDescriptor
            for process in values(described, 3):
                processes += [name.decode() for name in values(process, 6)]
        for interned in values(packet, 12):  # InternedData
            for event in values(interned, 2):
                names |= {name.decode() for name in values(event, 2)}
    return processes, names


def values(message: bytes, wanted: int) -> Iterator[bytes]:
    """The length-delimited fields of that number."""
    place = 0
    while place < len(message):
        tag, place = varint(message, place)
        kind = tag & 7
        if kind == 2:
            size, place = varint(message, place)
            if tag >> 3 == wanted:
                yield message[place : place + size]
            place += size
        elif kind == 0:
            _, place = varint(message, place)
        else:
            place += 8 if kind == 1 else 4


def varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where traces are kept")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    by_torchrun(folder, options.device)
    by_torchrun_with_a_kill(folder, options.device)
    for method in ("spawn", "fork", "processes"):
        by_multiprocessing(folder, options.device, method)
    for problem in problems:
        print(f"WRONG: {problem}")
    print("ranks: all as expected" if not problems else f"ranks: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
