"""Imports of public files that other tools wrote, compared with plain JSON, CSV and SQL.

    python benchmarks/real_traces.py [--mirror FOLDER] [--cache FOLDER] [--tool kineto] [--all]

Files, their commits and checksums are in real_traces.tsv; none is kept in this repository. They are
read by git from github.com, a named commit and the named files of each repository, or with --mirror
from git directories that were fetched before (FOLDER/owner+name/repo). Each is imported by
`kvtrace import`, without naming the tool, and compared with what `real_traces_counts.py` counts in
the file itself: executions and their time by the kernel's name, copies and their bytes, fills,
streams, the first and last time, ranges, and of logs the launches by name.

Printed are, for each file, "equal" or what differs, and of which categories events were left out:
"silent" are those of which the import says nothing. --all also shows equal files. Exits with 1 if
any figure differs, or a checksum does.
"""

import argparse
import contextlib
import csv
import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_traces_counts import Counts, counts_of, differences

from kvtrace.cli import main as kvtrace
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Trace, open_trace

LIST = Path(__file__).with_suffix(".tsv")
#: Values of `gpu_kernels.kind` for what is no kernel.
KINDS = {"copy": "copy", "fill": "fill"}


@dataclass(frozen=True)
class Source:
    """A public file: what wrote it, and where it is."""

    tool: str
    repository: str
    commit: str
    sha256: str
    path: str

    def content(self, directories: Path, mirror: Path | None) -> bytes:
        """Return the file, from its repository; ValueError for an unexpected checksum.

        Raises CalledProcessError if git cannot read it.
        """
        name = self.repository.replace("/", "+")
        if mirror is not None:
            directory = mirror / name / "repo"
        else:
            directory = directories / name
            self._fetch(directory)
        named = f"{self.commit}:{self.path}"
        content = _git(directory, "cat-file", "blob", named)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise ValueError(f"{self.repository} {named} has another checksum than {LIST.name}")
        return content

    def _fetch(self, directory: Path) -> None:
        """Fetch the commit without files; git fetches a file when it is read."""
        if not directory.exists():
            subprocess.run(["git", "init", "-q", "--bare", str(directory)], check=True)
            _git(directory, "remote", "add", "origin", f"https://github.com/{self.repository}.git")
            _git(directory, "config", "remote.origin.promisor", "true")
            _git(directory, "config", "remote.origin.partialclonefilter", "blob:none")
        ref = f"refs/fetched/{self.commit}"
        if not _git(directory, "for-each-ref", ref):
            wanted = f"{self.commit}:{ref}"
            _git(directory, "fetch", "-q", "--depth=1", "--filter=blob:none", "origin", wanted)


def _git(directory: Path, *arguments: str) -> bytes:
    command = ["git", f"--git-dir={directory}", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def sources(tool: str | None) -> list[Source]:
    """Return the rows of real_traces.tsv, of one tool or of all."""
    with LIST.open(newline="") as file:
        rows = [Source(**row) for row in csv.DictReader(file, delimiter="\t")]
    return [row for row in rows if tool in (None, row.tool)]


def fetched(source: Source, folder: Path, mirror: Path | None) -> Path:
    """Return the path of a file below `folder`, where it is written unless it is there."""
    path = folder / source.sha256[:16] / Path(source.path).name
    if not path.exists():
        content = source.content(folder / "git", mirror)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def imported(path: Path, out: Path) -> str | Trace:
    """Import a file into the trace `out`; return the trace, or the message of a refusal."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = kvtrace(["import", str(path), "-o", str(out)])
    return open_trace(out) if code == 0 else said.getvalue().strip()


def counts_of_trace(trace: Trace, tool: str) -> Counts:
    """Return the counts of an imported trace, from its tables."""
    counts = Counts()
    columns = ["name", "kind", "start", "end", "stated_end", "device", "stream", "bytes", "weight"]
    for row in plain_rows(trace.table("gpu_kernels", columns=columns)):
        start = row["start"]
        # That of an impossible time is as the file has it, which no sum of kvtrace counts.
        end = next((row[name] for name in ("end", "stated_end") if row[name] is not None), start)
        weight = row["weight"] or 1
        if tool == "proton":  # sums, of which neither times nor streams are known
            counts.add_kernels(row["name"], weight, weight * (end - start))
            continue
        stream = (row["device"], row["stream"])
        kind = KINDS.get(row["kind"], "kernel")
        name = row["name"].removesuffix(".kd")
        counts.add(kind, name, start, end, stream, row["bytes"] or 0)
    counts.ranges.update(trace.table("marks", columns=["name"]).column("name").to_pylist())
    if tool == "tritonparse":
        names = _by_key(trace, "kernels", "kernel_id", "name")
        kernel_of_call = _by_key(trace, "calls", "call_id", "kernel_id")
        for row in trace.table("launches", columns=["call_id", "weight"]).to_pylist():
            counts.calls[names[kernel_of_call[row["call_id"]]]] += row["weight"] or 1
    return counts


def _by_key(trace: Trace, table: str, key: str, value: str) -> dict[int, Any]:
    rows = trace.table(table, columns=[key, value]).to_pylist()
    return {row[key]: row[value] for row in rows}


def silent(left_out: Counter[str], trace: Trace) -> Counter[str]:
    """Return the categories of `left_out` that no message of the trace names."""
    texts = " ".join(trace.table("messages", columns=["text"]).column("text").to_pylist())
    return Counter({name: count for name, count in left_out.items()
                    if name.partition(" (")[0] not in texts})  # fmt: skip


def main() -> int:
    """Print what differs in each file, and how many files of each tool are equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path, help="folder of git directories fetched before")
    parser.add_argument("--cache", type=Path, help="folder that keeps the files")
    parser.add_argument("--tool")
    parser.add_argument("--all", action="store_true", help="show equal files, too")
    options = parser.parse_args()
    listed = sources(options.tool)
    equal: Counter[str] = Counter()
    executions: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    unnamed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for source in listed:
            path = fetched(source, options.cache or Path(scratch), options.mirror)
            shown = f"{source.tool:11} {source.repository} {source.path}"
            trace = imported(path, Path(scratch) / "trace")
            if isinstance(trace, str):
                print(f"REFUSED  {shown}\n    {trace}", flush=True)
                continue
            counts = counts_of(source.tool, path)
            problems = list(differences(counts, counts_of_trace(trace, source.tool)))
            silently = silent(counts.left_out, trace)
            shutil.rmtree(Path(scratch) / "trace")
            equal[source.tool] += not problems
            executions[source.tool] += counts.executions() or sum(counts.calls.values())
            left_out += counts.left_out
            unnamed += silently
            if problems or options.all:
                print(f"{'DIFFERS ' if problems else 'equal   '} {shown}", flush=True)
                for problem in problems:
                    print(f"    {problem}")
                for name, count in silently.items():
                    print(f"    left out silently: {count:,} {name}")
    print("\nevents left out, in all files (silently):")
    for name, count in left_out.most_common():
        print(f"    {count:9,} ({unnamed[name]:,})  {name}")
    print()
    for tool, files in Counter(source.tool for source in listed).items():
        noun = "launches" if tool == "tritonparse" else "executions"
        print(f"{tool:11} {equal[tool]} of {files} files equal, {executions[tool]:,} {noun}")
    return int(sum(equal.values()) < len(listed))


if __name__ == "__main__":
    sys.exit(main())
