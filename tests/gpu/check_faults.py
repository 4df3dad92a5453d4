"""To be run by hand on a machine with an NVIDIA GPU: planted faults, each named by its dump.

    python tests/gpu/check_faults.py FOLDER [NAME …] [--bare] [--jobs N]

Each fault of planted_faults.py runs eagerly and in a replayed graph, recorded with KVTRACE_FAULTS;
then `kvtrace fault` is to name kernel, line, argument and cause. With --bare the same programs also
run unrecorded, as they are and with CUDA_LAUNCH_BLOCKING=1; what PyTorch says is beside. Traces and
dumps stay in FOLDER. Ends with 1 if a fault is not as it should be.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted_faults import HANGS, ONLY_IN_GRAPHS, PLANTED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = 100


def program(name: str, mode: str, *, out: Path | None, **variables: str) -> tuple[int, str]:
    """Run one program; return its exit code, and the end of its output."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(HERE / "planted_faults.py"), name, mode]
    if out is not None:
        environment["KVTRACE_FAULTS"] = "on"
        command = [sys.executable, "-m", "kvtrace", "run", "-o", str(out), *command[1:]]
    with subprocess.Popen(
        command, env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            text, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            text += "\ntimed out"
        return process.returncode, text


def unrecorded(name: str, mode: str, blocking: str) -> tuple[int, str]:
    """Run one program without kvtrace; with `blocking` "1", launches wait for their end."""
    return program(name, mode, out=None, CUDA_LAUNCH_BLOCKING=blocking)


def hung(name: str, mode: str, out: Path) -> tuple[int, str]:
    """Run a program that hangs, and ask for its dump after some seconds."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(program, name, mode, out=out)
        pipes: list[Path] = []
        for _ in range(60):
            time.sleep(1)
            pipes = list((out / "faults").glob("*.pipe")) if out.exists() else []
            if pipes:
                break
        time.sleep(14)
        asked = subprocess.run(
            [sys.executable, "-m", "kvtrace", "fault", str(out), "--now"],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        code, text = running.result()
        return code, f"{text}\n--now: {asked.returncode} {asked.stdout}{asked.stderr}"


def judged(name: str, mode: str, out: Path) -> dict[str, object]:
    """Run one planted fault, and compare what is found with what is expected."""
    expected = PLANTED[name][1]
    begin = time.time()
    code, text = hung(name, mode, out) if name in HANGS else program(name, mode, out=out)
    done = subprocess.run(
        [sys.executable, "-m", "kvtrace", "fault", str(out), "--json"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    try:
        found = json.loads(done.stdout)["faults"]
    except ValueError:
        found = []
    first = next((one for one in found if one["kernel"]), found[0] if found else {})
    read = bool(first.get("file")) and Path(first["file"]).exists()
    other_line = expected.missing_from(first["file"], first["line"]) if read else "not named"
    return {
        "name": name,
        "mode": mode,
        "code": code,
        "seconds": round(time.time() - begin, 1),
        "kernel": expected.kernel in (first.get("kernel") or ""),
        "line": not other_line,
        "launch": first.get("call_id") is not None,
        "argument": expected.argument is None or first.get("argument") == expected.argument,
        "cause": expected.cause in "; ".join(first.get("causes") or [""]),
        "found": first,
        "source": other_line,
        "said": text[-1500:],
        "error": done.stderr[-600:],
    }


def main() -> int:
    """Run all programs and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--modes", default="eager,graph")
    given = parser.parse_args()
    cases = [
        (name, mode)
        for name in given.names or PLANTED
        for mode in given.modes.split(",")
        if mode == "graph" or name not in ONLY_IN_GRAPHS
    ]
    with ThreadPoolExecutor(given.jobs) as pool:
        rows = list(
            pool.map(lambda case: judged(*case, given.folder / f"{case[0]}-{case[1]}"), cases)
        )
        bare = []
        if given.bare:
            asked = [(*case, way) for case in cases if case[0] not in HANGS for way in ("", "1")]
            bare = list(
                pool.map(
                    lambda one: (
                        *one,
                        program(one[0], one[1], out=None, CUDA_LAUNCH_BLOCKING=one[2]),
                    ),
                    asked,
                )
            )
    parts = ("kernel", "line", "launch", "argument", "cause")
    for row in rows:
        marks = " ".join(f"{part}:{'yes' if row[part] else 'NO '}" for part in parts)
        print(f"{row['name']:<22} {row['mode']:<6} {row['code']:>4} {row['seconds']:>6} {marks}")
    print(*(f"{part}: {sum(bool(row[part]) for row in rows)} of {len(rows)}" for part in parts))
    for name, mode, way, (code, text) in bare:
        kind = "blocking" if way else "bare"
        frames = [one.strip() for one in text.split("\n") if one.strip().startswith("File ")]
        errors = [one for one in text.split("\n") if "Error" in one or "Assertion" in one]
        print(f"{name:<22} {mode:<6} {kind:<8} {code:>4} {frames[-1:]} {errors[-1:]}")
    (given.folder / "rows.json").write_text(json.dumps(rows, indent=1))
    return int(not all(row[part] for row in rows for part in parts))


if __name__ == "__main__":
    sys.exit(main())
