"""Traces in an S3-compatible server: only files that are read are fetched."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.times import host_times
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import pass_parts, run_folder
from kvtrace.schema.remote import is_remote
from kvtrace.schema.trace import open_trace, select_runs
from kvtrace.schema.writer import RunWriter
from tests.support.tiers import needs

if os.environ.get("KVTRACE_REQUIRE_SPARK") != "1" and find_spec("moto") is None:
    pytest.skip("needs moto, a server of S3", allow_module_level=True)
FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
EPOCH = 1_767_323_045_000_000_000


@pytest.fixture(scope="module")
@needs("process")
def server():
    """moto's server of S3, with nothing in it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{url}/moto-api/"):
                    break
            except OSError:
                time.sleep(0.1)
        yield url
        process.kill()


@pytest.fixture
def store(server, monkeypatch, tmp_path):
    """An empty bucket, and a cache of this test's own."""
    from pyarrow.fs import FileSystem

    settings = {
        "AWS_ENDPOINT_URL": server, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1", "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    options = "allow_bucket_creation=true&allow_bucket_deletion=true"
    store, _ = FileSystem.from_uri(f"s3://bucket?{options}")
    store.create_dir("bucket")
    yield store
    store.delete_dir("bucket")


def uploaded(store, folder, name="out"):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with store.open_output_stream(f"bucket/{name}/{path.relative_to(folder)}") as file:
                file.write(path.read_bytes())
    return f"s3://bucket/{name}"


def fetched(trace):
    """Return the tables of which files were fetched."""
    files = [path for path in trace.path.rglob("*") if path.is_file()]
    return {path.relative_to(trace.path).parts[0] for path in files}


def two_runs(folder):
    for number in range(2):
        writer = RunWriter(folder, f"run-{number}")
        writer.append_rows("kernels", [{"kernel_id": 0, "name": f"k{number}"}])
        writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
        launch = {"seq": 0, "call_id": 0, "enter": EPOCH, "exit": EPOCH + 5}
        writer.append_rows("launches", [launch])
        writer.seal({"run_id": f"run-{number}", "ending": "exit"})


@pytest.mark.parametrize(
    ("address", "remote"),
    [("s3://bucket/out", True), ("s3:/bucket/out", True), ("gs://b/o", True), ("out/", False),
     ("C:/out", False), ("s3", False), ("s3:out", False)],
)  # fmt: skip
def test_addresses_of_object_stores_differ_from_folders(address, remote):
    assert is_remote(address) is remote


def test_commands_print_the_same_for_a_store_as_for_a_folder(store, capsys):
    address = uploaded(store, FIXTURES / "llama")
    statement = "SELECT kernel, count(*), sum(host_ns) FROM launched GROUP BY ALL ORDER BY ALL"
    for command in (
        ["profile", "TRACE", "--calls", "--no-replay"], ["info", "TRACE"],
        ["sql", "TRACE", statement], ["fleet", "TRACE"],
    ):  # fmt: skip
        outputs = []
        for place in (str(FIXTURES / "llama"), address):
            words = [place if word == "TRACE" else word for word in command]
            assert main(words) == 0
            folder = str(open_trace(place).path)
            outputs.append(capsys.readouterr().out.replace(folder, "TRACE").split())
        assert outputs[0] == outputs[1]
        assert outputs[0]


def test_only_files_of_the_queried_table_are_fetched(store, tmp_path, capsys):
    two_runs(tmp_path / "out")
    address = uploaded(store, tmp_path / "out")
    trace = open_trace(address)
    assert trace.run_ids == ("run-0", "run-1")
    assert fetched(trace) == set()
    assert main(["sql", address, "SELECT name FROM kernels"]) == 0
    assert "k1" in capsys.readouterr().out
    assert fetched(trace) == {"runs", "kernels"}
    assert not run_folder(trace.path, "kernels", "run-0").exists()
    assert trace.table("launches", ["run-1"]).num_rows == 1
    assert not run_folder(trace.path, "launches", "run-0").exists()


def test_stored_sums_are_read_without_launches_and_none_are_stored(store, tmp_path):
    two_runs(tmp_path / "out")
    bare = open_trace(uploaded(store, tmp_path / "out", "bare"))
    add_up(bare, bare.runs, least_rows=0)
    assert not any(sums_stored(bare, run) for run in bare.runs)
    local = open_trace(tmp_path / "out")
    add_up(local, local.runs, least_rows=0)
    trace = open_trace(uploaded(store, tmp_path / "out"))
    assert host_times(trace, trace.runs).calls.equals(host_times(local, local.runs).calls)
    assert "launch_sums" in fetched(trace)
    assert "launches" not in fetched(trace)


def test_cached_file_is_not_fetched_again_until_it_changes(store, tmp_path):
    two_runs(tmp_path / "out")
    address = uploaded(store, tmp_path / "out")
    open_trace(address).table("kernels")
    (cached,) = run_folder(open_trace(address).path, "kernels", "run-1").iterdir()
    before = cached.stat().st_ino
    open_trace(address).table("kernels")
    assert cached.stat().st_ino == before
    path = "bucket/out/kernels/run=run-1/part-00000.parquet"
    with store.open_output_stream(path) as file:
        file.write(b"this is shorter")
    with pytest.raises(KvtraceError, match="damaged"):
        open_trace(address).table("kernels")


def test_spark_reads_the_journal_of_a_running_program(store, tmp_path):
    writer = RunWriter(tmp_path / "out", "run-0")
    writer.append_rows("runs", [{"run_id": "run-0"}])
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.flush()
    trace = open_trace(uploaded(store, tmp_path / "out"))
    assert trace.table("kernels")["name"].to_pylist() == ["k"]
    assert not trace.runs[0].sealed


def test_findings_are_written_to_the_object_store(store, tmp_path, monkeypatch):
    address = uploaded(store, FIXTURES / "train")
    assert main(["sanitize", address]) in (0, 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    trace = open_trace(address)
    (run,) = trace.run_ids
    parts = pass_parts(run_folder(trace.path, "findings", run))
    names = [f"part-{made}-00000.parquet" for made in ("order", "sanitizer")]
    assert [part.name for part in parts] == names
    assert trace.table("findings").num_rows > 0
    assert "sanitizer" in trace.passes(run)


@pytest.mark.parametrize("address", ["s3://bucket/nothing", "s3://nowhere/out", "s3://bucket"])
def test_missing_address_is_a_one_sentence_error(store, address, capsys):
    assert main(["info", address]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_store_address_may_end_with_a_commit(store, tmp_path):
    two_runs(tmp_path / "out")
    address = uploaded(store, tmp_path / "out")
    with pytest.raises(KvtraceError, match="no run of commit 'abc'"):
        select_runs(f"{address}/@abc")
    assert [run.run_id for run in select_runs(address, "run-0").runs] == ["run-0"]
