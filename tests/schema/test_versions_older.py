"""Older kvtraces read what this one writes, and this one reads what they write: the real ones.

The last commit of each older version of the format is taken from git's history and run in a process
of its own. docs/compatibility.md says what is promised.
"""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import FORMAT_VERSION, version_numbers
from tests.schema.make_golden import GOLDEN, JOURNALLED, ROOT, SEALED, write_golden
from tests.schema.rows import plain

VERSIONS = [f"1.{minor}" for minor in range(version_numbers(FORMAT_VERSION)[1])]
#: The oldest, one in the middle and the newest of them at every change, the others at night.
OF_A_NIGHT = pytest.mark.night("all are read in one way; the oldest, a middle and the newest stay")
TRIED = [
    version
    if version in (VERSIONS[0], VERSIONS[len(VERSIONS) // 2], VERSIONS[-1])
    else pytest.param(version, marks=OF_A_NIGHT)
    for version in VERSIONS
]
#: Folders that packages were in before all moved into `kvtrace/`.
_MOVED = ("schema", "converters")

#: What an older kvtrace does: read a newer trace, judge it, and write one of its own version.
OLDER = """
    import json, os, sys
    from pathlib import Path
    import pyarrow as pa
    from kvtrace.schema.tables import TABLES
    from kvtrace.schema.trace import open_trace
    from kvtrace.schema.validation import validate
    from kvtrace.schema.versions import FORMAT_VERSION
    from kvtrace.schema.writer import RunWriter

    newer, own, rows = sys.argv[1:]
    trace = open_trace(newer)

    def listed(name, run):
        table = trace.table(name, [run]).drop_columns(["run"])
        for place, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type):
                table = table.set_column(place, field.name, table.column(place).cast("int64"))
        maps = [field.name for field in table.schema if pa.types.is_map(field.type)]
        rows = table.to_pylist()
        return [row | {key: row[key] and dict(row[key]) for key in maps} for row in rows]

    found = {run.run_id: {name: listed(name, run) for name in TABLES} for run in trace.runs}
    told = {"version": FORMAT_VERSION, "rows": found, "where": open_trace.__code__.co_filename}
    told["problems"] = [problem.text for problem in validate(newer)]
    print(json.dumps(told, default=bytes.hex))

    for run_id, tables in json.loads(Path(rows).read_text()).items():
        writer = RunWriter(own, run_id)
        for name, table in TABLES.items():
            if table.origin == "captured" and name != "runs":
                for row in tables[name] if name == "artifacts" else ():
                    row["bytes"] = bytes.fromhex(row["bytes"])
                writer.append_rows(name, tables[name])
        if run_id.endswith("1"):
            writer.seal(tables["runs"][0])
        else:  # as a process that is killed leaves it
            writer.append_rows("runs", tables["runs"])
            writer.flush()
            writer.close()
"""


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def last_commits():
    """Return the last commit of each older version, from where the next one was begun.

    That was said by a constant until 1.10, and is by the first column or table that came since.
    """
    pattern = "^FORMAT_VERSION: Final = "
    found = {}
    for commit in git("log", "--format=%H", f"-G{pattern}", "--", "*versions.py").decode().split():
        changes = git("show", "--format=", commit, "--", "*versions.py").decode()
        ended = re.search(r'^-FORMAT_VERSION: Final = "([\d.]+)"', changes, re.M)
        if ended:
            found.setdefault(ended[1], f"{commit}^")
    for minor in range(10, len(VERSIONS)):
        begun = f'since="1.{minor + 1}"'
        commits = git("log", "--reverse", "--format=%H", f"-S{begun}", "--", "*_tables.py")
        first = commits.decode().split()[:1]
        found[f"1.{minor}"] = f"{first[0]}^" if first else "HEAD"  # it is not committed yet
    return {version: commit for version, commit in found.items() if version in VERSIONS}


@pytest.fixture(scope="module")
def history():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: older versions are taken from git's history")
    if git("rev-parse", "--is-shallow-repository").strip() == b"true":
        pytest.skip("this checkout is shallow: older versions are taken from git's history")
    return last_commits()


def test_every_older_format_version_is_in_the_git_history(history):
    assert set(history) == set(VERSIONS)


def tree(commit, folder):
    """Write kvtrace as it was at a commit, as it is when installed."""
    names = git("ls-tree", "--name-only", commit).decode().split()
    wanted = [name for name in ("kvtrace", *_MOVED) if name in names]
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *wanted))) as archive:
        archive.extractall(folder, filter="data")
    for name in _MOVED:
        if name in wanted:
            (folder / "kvtrace" / name).unlink(missing_ok=True)  # a link to it, from 1.8 on
            (folder / name).rename(folder / "kvtrace" / name)
    return folder


def newest(folder):
    """Write the golden trace of this version, all sealed: journals are for who wrote them."""
    write_golden(folder)
    recover(folder / "trace", force=True)
    return folder / "trace"


def run(tree, *command):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KVTRACE")}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**kept, "PYTHONPATH": str(tree)},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_json(rows):
    return json.loads(json.dumps(rows, default=bytes.hex))


@pytest.mark.process
@pytest.mark.parametrize("version", TRIED)
def test_older_kvtrace_and_this_version_read_each_others_traces(history, version, tmp_path):
    older, newer = tree(history[version], tmp_path / "older"), newest(tmp_path / "newer")
    rows = GOLDEN / f"v{version}" / "rows.json"

    told = json.loads(
        run(older, "-c", textwrap.dedent(OLDER), newer, tmp_path / "out", rows).splitlines()[-1]
    )

    # The older one is the one that is meant, and reads every row in the columns that it knows.
    assert told["version"] == version
    assert Path(told["where"]).is_relative_to(older)
    assert told["problems"] == []
    own = open_trace(newer)
    for run_id, tables in told["rows"].items():
        for name, found in tables.items():
            expected = as_json(plain(own.table(name, [run_id])))
            assert found == [
                {key: row[key] for key in old} for row, old in zip(expected, found, strict=True)
            ], name
        assert tables["kernels"]
    # This one reads every row that the older one wrote, sealed or killed.
    trace = open_trace(tmp_path / "out")
    assert [each.sealed for each in trace.runs] == [True, False]
    written = json.loads(rows.read_text(encoding="utf-8"))
    for run_id in (SEALED, JOURNALLED):
        for name, table in written[run_id].items():
            if trace.definition(name).origin != "captured" or name == "runs":
                continue
            found = as_json(plain(trace.table(name, [run_id])))
            assert [{key: row[key] for key in table[0]} for row in found] == table, name
    recover(tmp_path / "out", force=True)
    assert validate(tmp_path / "out") == []


@pytest.mark.process
def test_commands_of_the_previous_version_read_this_versions_traces(history, tmp_path):
    older = tree(history[VERSIONS[-1]], tmp_path / "older")
    newer = newest(tmp_path / "newer")
    told = json.loads(run(older, "-m", "kvtrace", "info", newer, "--all", "--json"))
    own = json.loads(run(ROOT, "-m", "kvtrace", "info", newer, "--all", "--json"))
    assert [each["run_id"] for each in told["runs"]] == [SEALED, JOURNALLED]
    for key in ("runs", "kernels", "messages"):
        # The version before counts calls that say no kernel as those of a kernel without a name.
        mine, theirs = ([row for row in all_[key] if row.get("name") != ""] for all_ in (own, told))
        assert theirs
        # It adds up times of executions with weights, of which this one says nothing: it reads
        # weights from the run's features, and the one before from a setting that is not there.
        for row in theirs:
            row.pop("device_ns", None)
        assert theirs == [
            {name: row[name] for name in old} for row, old in zip(mine, theirs, strict=True)
        ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_golden_trace_of_a_released_version_is_never_written_again(history, version):
    commit = history[version]
    listed = git("ls-tree", "-r", commit).decode().splitlines()
    found = [line.split() for line in listed if f"schema/golden/v{version}/" in line]
    now = git("ls-files", "-s", f"schema/golden/v{version}").decode().splitlines()
    kept = {line.split()[3].removeprefix("kvtrace/"): line.split()[1] for line in now}
    assert {path.removeprefix("kvtrace/"): blob for _, _, blob, path in found} == kept
    assert kept
