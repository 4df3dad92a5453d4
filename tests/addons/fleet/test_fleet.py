"""Kernels over many jobs: claimed changes, findings, and the page."""

import json
import shutil
import threading
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.addons.fleet import reading
from kvtrace.addons.fleet.fleet_text import fleet_text
from kvtrace.addons.fleet.model import FleetFinding
from kvtrace.addons.fleet.page import fleet_page
from kvtrace.addons.fleet.reading import judge_times, read_fleet
from kvtrace.cli import main
from kvtrace.figures.identity import TRITON, KernelKey
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.stored import sums_stored
from kvtrace.figures.sums_building import add_up
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.foreign_producer import write_foreign
from tests.support.replacing import replace
from tests.support.tiers import some
from tests.support.written_documents import shown_by

EPOCH = 1_767_323_045_000_000_000
HOUR = 3_600_000_000_000
FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
H200 = [{"index": 0, "name": "NVIDIA H200"}]


def commit_of(number):
    return f"{0xABC0 + number:04x}" * 10


def write_job(
    folder, number, *, kernels, ranks=1, device=True, devices=H200, findings=(), seal=True,
    settings=None, weight=None, placed=True,
):  # fmt: skip
    """Write a job with twelve launches per kernel of about the given durations in ns."""
    for rank in range(ranks):
        random = np.random.default_rng((number, rank))
        run = f"20260101-{number:06d}-{rank}"
        writer = RunWriter(folder, run)
        began = EPOCH + number * HOUR
        writer.append_rows(
            "kernels",
            [{"kernel_id": k, "name": name, "module": "m"} for k, name in enumerate(kernels)],
        )
        writer.append_rows(
            "calls",
            [
                {"call_id": k, "kernel_id": k, "grid_x": 64, "grid_y": 1, "grid_z": 1}
                for k in range(len(kernels))
            ],
        )
        launches, executions = [], []
        for seq in range(12 * len(kernels)):
            call = seq % len(kernels)
            ns = int(list(kernels.values())[call] * random.normal(1, 0.01))
            enter = began + 100_000 * seq
            took = 5_000 if device else ns
            launches.append({"seq": seq, "call_id": call, "enter": enter, "exit": enter + took})
            launches[-1] |= {"thread": 1, "phase": "run", "weight": weight}
            end = enter + 50_000 + ns
            executions.append({"record": seq, "launch_seq": seq})
            executions[-1] |= {"start": enter + 50_000, "end": end, "weight": weight}
            executions[-1] |= {"call_id": call} if placed else {}
        writer.append_rows("launches", launches)
        writer.append_rows("gpu_kernels", executions if device else [])
        row = {
            "run_id": run, "group_id": f"job-{number}", "started": began, "host": "node1",
            "git_commit": commit_of(number), "devices": devices, "settings": settings,
        }  # fmt: skip
        if seal:
            writer.seal(row | {"ending": "exit"})
        else:
            writer.append_rows("runs", [row])
            writer.flush()
        if findings is not None:
            rows = [
                {"finding_id": name, "call_id": 0, "rule": name, "verdict": "violation",
                 "severity": "error"}
                for name in findings
            ]  # fmt: skip
            names = ["finding_id", "call_id", "rule", "verdict", "severity"]
            columns = {name: [row[name] for row in rows] for name in names}
            fields = [TABLES["findings"].schema.field(name) for name in names]
            table = pa.table(columns, schema=pa.schema(fields))
            open_trace(folder).add_derived(run, "sanitizer", {"findings": table})


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Twelve jobs of two ranks: the matmul takes 30 % longer from job 8 on, softmax never."""
    folder = tmp_path_factory.mktemp("fleet") / "out"
    for number in range(12):
        slow = 1.3 if number >= 8 else 1.0
        kernels = {"matmul": 90_000 * slow, "soft<max>": 20_000 * (1 + 0.01 * (number % 2))}
        findings = {9: ["race"], 10: ["race", "overflow"], 11: ["overflow"]}.get(number, [])
        write_job(folder, number, kernels=kernels, ranks=2, findings=findings)
    return open_trace(folder)


def test_change_is_reported_only_for_its_first_job(trace):
    fleet = read_fleet(trace, trace.select())
    assert (fleet.runs, len(fleet.jobs), fleet.newest) == (24, 12, 11)
    matmul, softmax = fleet.kernels
    assert (matmul.kernel, matmul.kind, matmul.machine) == ("matmul", "device", "NVIDIA H200")
    assert [change.job for change in matmul.changes] == [8]
    assert matmul.changes[0].judged.ratio == pytest.approx(1.3, abs=0.02)
    assert softmax.changes == ()
    assert softmax.newest is not None
    assert not softmax.newest.claimed
    assert matmul.times[0] == pytest.approx(90_000, rel=0.01)
    text = "\n".join(fleet_text(fleet))
    assert "×1.30 slower" in text
    assert commit_of(8)[:12] in text


def test_chosen_job_is_compared_with_earlier_jobs_alone(trace):
    fleet = read_fleet(trace, trace.select(f"@{commit_of(8)}"))
    assert (len(fleet.jobs), fleet.newest) == (9, 8)
    assert fleet.kernels[0].newest is not None
    assert fleet.kernels[0].newest.claimed
    assert "1 of 2 kernels slower" in " ".join("\n".join(fleet_text(fleet)).split())
    early = read_fleet(trace, trace.select(f"@{commit_of(2)}"))
    assert early.kernels[0].reason == "fewer than 4 earlier jobs"


def test_single_job_is_reported_as_not_compared(trace):
    fleet = read_fleet(trace, trace.select(f"@{commit_of(0)}"))
    assert len(fleet.jobs) == 1
    lines = fleet_text(fleet)
    text = " ".join(" ".join(lines).split())
    assert "which cannot be compared yet (fewer than 4 earlier jobs)" in text
    assert "0 of 0" not in text
    assert next(line for line in lines if line.startswith("newest job")).split()[2:] == ["median"]


def test_findings_have_first_and_last_job_and_whether_they_remain(trace):
    fleet = read_fleet(trace, trace.select())
    findings = {f.rule: (f.first, f.last, f.jobs, f.still) for f in fleet.findings}
    assert findings == {"overflow": (10, 11, 2, True), "race": (9, 10, 2, False)}
    assert fleet.judged_jobs == 12


def test_host_times_are_compared_without_a_device_timeline(tmp_path):
    for number in range(6):
        slow = 1.5 if number == 5 else 1.0
        kernels = {"matmul": 9_000 * slow}
        write_job(tmp_path, number, kernels=kernels, device=False, findings=None)
    write_job(tmp_path, 9, kernels={"matmul": 9_000}, device=False, devices=[], findings=None)
    trace = open_trace(tmp_path)
    fleet = read_fleet(trace, trace.select("job-5"))
    (matmul,) = fleet.kernels
    assert (matmul.kind, matmul.machine) == ("host", "NVIDIA H200 in node1")
    assert matmul.newest is not None
    assert matmul.newest.claimed
    assert fleet.judged_jobs == 0
    evaluated = read_fleet(trace, trace.select())
    assert evaluated.newest not in evaluated.kernels[0].times
    assert "not judged" not in "\n".join(fleet_text(evaluated)[:3])


def test_jobs_on_different_machines_are_not_compared(tmp_path):
    for number in range(6):
        devices = H200 if number < 5 else [{"index": 0, "name": "NVIDIA B200"}]
        write_job(tmp_path, number, kernels={"k": 9_000 // (1 + number // 5)}, devices=devices)
    trace = open_trace(tmp_path)
    fleet = read_fleet(trace, trace.select())
    assert {kernel.machine for kernel in fleet.kernels} == {"NVIDIA H200", "NVIDIA B200"}
    assert all(not kernel.changes and kernel.newest is None for kernel in fleet.kernels)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Jobs of every kind: on devices and on the host, sampled, not sealed, of an older format."""
    folder = tmp_path_factory.mktemp("mixed") / "out"
    for number in range(16):
        kernels = {"matmul": 90_000 * (1.3 if number >= 8 else 1.0), "softmax": 20_000}
        write_job(folder, number, kernels=kernels, ranks=2, device=number % 4 != 3, findings=None,
                  seal=number != 14, settings={"sample": "1/10"} if number == 5 else None,
                  weight=10 if number == 5 else None, placed=number != 6)  # fmt: skip
    for table in ("launches", "gpu_kernels", "kernels"):
        for path in (folder / table).glob("run=20260101-000002-*/*.parquet"):
            rows = pq.ParquetFile(path).read()
            older = rows.schema.metadata | {b"kvtrace.format_version": b"1.0"}
            dropped = [c for c in ("weight", "kind", "bytes", "loops") if c in rows.column_names]
            pq.write_table(rows.drop_columns(dropped).replace_schema_metadata(older), path)
    return folder


@pytest.mark.parametrize("at_once", some([(3, 4_000_000), (1, 4_000_000), (99, 50)], 3))
@pytest.mark.costly("reads a fleet of 24 runs three times")
def test_reading_runs_in_portions_gives_the_same_figures(mixed, monkeypatch, at_once):
    runs, launches = at_once
    trace = open_trace(mixed)
    whole = asdict(read_fleet(trace, trace.select()))
    assert len(whole["jobs"]) == 16
    kinds = {(kernel["kernel"], kernel["kind"]): kernel for kernel in whole["kernels"]}
    assert set(kinds[("matmul", "device")]["times"]) == {n for n in range(16) if n % 4 != 3}
    assert set(kinds[("matmul", "host")]["times"]) == {3, 7, 11, 15}
    assert [change["job"] for change in kinds[("matmul", "device")]["changes"]] == [8]
    monkeypatch.setattr(reading, "_RUNS_AT_ONCE", runs)
    monkeypatch.setattr(reading, "_ROWS_AT_ONCE", launches)
    trace = open_trace(mixed)
    assert len(list(reading._portions(trace.runs, dict.fromkeys(trace.run_ids, 24)))) > 1
    portioned = asdict(read_fleet(trace, trace.select()))
    for kernel in (*portioned["kernels"], *whole["kernels"]):
        kernel["total_ns"] = round(kernel["total_ns"])
    assert portioned == whole


@pytest.mark.costly("reads a fleet of 24 runs three times")
def test_stored_sums_give_the_same_changes_and_times_within_a_bin(mixed, tmp_path):
    shutil.copytree(mixed, tmp_path / "out")
    trace = open_trace(tmp_path / "out")
    expected = read_fleet(trace, trace.select())
    add_up(trace, trace.runs[::2], least_rows=0)
    trace = open_trace(tmp_path / "out")
    assert any(sums_stored(trace, run) for run in trace.runs)
    fleet = read_fleet(trace, trace.select())
    for stored, read in zip(fleet.kernels, expected.kernels, strict=True):
        assert (stored.kernel, stored.kind, stored.grid) == (read.kernel, read.kind, read.grid)
        assert stored.times == pytest.approx(read.times, rel=1 / 64)
        assert [change.job for change in stored.changes] == [change.job for change in read.changes]


@pytest.mark.parametrize("remote", [None, "a store"])
def test_runs_in_an_object_store_are_read_by_one_thread(trace, monkeypatch, remote):
    threads = set()
    times = reading._times_by_run

    def noted_times(*arguments):
        threads.add(threading.current_thread())
        return times(*arguments)

    monkeypatch.setattr(reading, "_times_by_run", noted_times)
    monkeypatch.setattr(reading, "remote_folder", lambda path: remote)
    assert len(read_fleet(trace, trace.select()).kernels) == 2
    assert (threads == {threading.main_thread()}) == (remote is not None)


def test_executions_find_their_call_by_their_launch(mixed):
    trace = open_trace(mixed)
    (matmul,) = [k for k in read_fleet(trace, trace.select()).kernels
                 if (k.kernel, k.kind) == ("matmul", "device")]  # fmt: skip
    assert matmul.times[6] == pytest.approx(90_000, rel=0.01)


def test_read_only_trace_is_read_and_not_changed(mixed):
    paths = sorted(mixed.rglob("*"))
    times = {path: path.stat().st_mtime_ns for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        trace = open_trace(mixed)
        assert read_fleet(trace, trace.select()).runs == 32
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert {path: path.stat().st_mtime_ns for path in sorted(mixed.rglob("*"))} == times


def test_replaced_run_changes_the_figures(tmp_path):
    for number in range(6):
        write_job(tmp_path, number, kernels={"k": 9_000}, findings=None)
    trace = open_trace(tmp_path)
    (before,) = read_fleet(trace, trace.select()).kernels
    shutil.rmtree(tmp_path / "gpu_kernels" / "run=20260101-000005-0")
    other = tmp_path / "other"
    write_job(other, 5, kernels={"k": 18_000}, findings=None)
    part = "gpu_kernels/run=20260101-000005-0"
    shutil.copytree(other / part, tmp_path / part)
    trace = open_trace(tmp_path)
    (after,) = read_fleet(trace, trace.select()).kernels
    assert before.times[5] == pytest.approx(9_000, rel=0.01)
    assert after.times[5] == pytest.approx(18_000, rel=0.01)
    assert {**after.times, 5: 0} == {**before.times, 5: 0}


def test_lasting_change_is_reported_and_noise_is_not():
    random = np.random.default_rng(5)
    claimed = changed = 0
    for _ in range(300):
        times = dict(enumerate(1e4 * np.exp(random.normal(0, 0.04, 60))))
        newest, _, changes = judge_times("device", times, 59)
        claimed += newest is not None and newest.claimed
        changed += len(changes)
    assert claimed <= 9  # 1 % of 300 are expected, of which some are within 5 %
    assert changed / (300 * 56) < 0.005
    steps = {job: 1e4 * (1.2 if job >= 30 else 1.0) * float(random.normal(1, 0.005))
             for job in range(60)}  # fmt: skip
    _, _, changes = judge_times("device", steps, 59)
    assert [change.job for change in changes] == [30]
    single = {**steps, 10: steps[10] * 2}
    assert [change.job for change in judge_times("device", single, 59)[2]][:1] != [10]
    small = {job: 1e4 * (1.03 if job >= 30 else 1.0) for job in range(60)}
    assert judge_times("device", small, 59)[2] == ()


def test_the_command_prints_text_and_json_and_writes_a_page(trace, tmp_path, capsys):
    page = tmp_path / "fleet.html"
    assert main(["fleet", str(trace.path), "-o", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    written = page.read_text(encoding="utf-8")
    assert "soft<max>" not in written
    kernels = shown_by(written)["sections"][0]["rows"]
    assert "soft<max>" in [row[0]["text"] for row in kernels]
    assert [row[-1]["line"] is None for row in kernels] == [False, False]
    assert main(["fleet", str(trace.path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    fleet = read_fleet(open_trace(trace.path), open_trace(trace.path).select())
    of_command = {"schema": "fleet", "version": 1}
    assert content == of_command | json.loads(json.dumps(asdict(fleet)))


def test_fleet_has_the_same_kernels_as_the_device_time_table():
    trace = open_trace(FIXTURES / "planted" / "recompiles")
    device = PartFigures(trace, trace.runs).device_time

    kernels = read_fleet(trace, trace.runs).kernels

    keys = {KernelKey(k.module or "", k.kernel, k.source or "") for k in kernels}
    assert keys == {row.key for row in device.rows if row.kind == TRITON}
    assert len(keys) == len(kernels) == 21


def test_sanitize_is_not_advised_for_runs_without_ir(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out"))
    fleet = read_fleet(trace, trace.runs)
    assert fleet.unjudged_note == "no run was checked for findings: none has IR that can be judged"
    assert fleet.unjudged_note in shown_by(fleet_page(fleet))["sentences"]
    assert fleet.unjudged_note in fleet_text(fleet)


def test_findings_of_another_pass_do_not_make_a_job_judged(tmp_path):
    out = tmp_path / "out"
    write_job(out, 0, kernels={"matmul": 90_000}, findings=None)
    trace = open_trace(out)
    trace.add_derived(
        trace.run_ids[0], "invariance", {"findings": TABLES["findings"].schema.empty_table()}
    )
    fleet = read_fleet(trace, trace.runs)
    assert fleet.judged_jobs == 0
    assert "no run was checked" in fleet.unjudged_note


def test_findings_of_another_pass_are_not_denied(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out"))
    fleet = read_fleet(trace, trace.runs)
    finding = FleetFinding("k", None, None, "nan", "error", 1, 1, 0, 0, True)
    fleet = replace(fleet, findings=(finding,), judgeable=True)
    assert fleet.unjudged_note == "no run's accesses were checked: kvtrace sanitize does that"


def test_page_has_no_tables_without_rows(tmp_path):
    trace = open_trace(write_foreign(tmp_path / "out"))
    fleet = replace(read_fleet(trace, trace.runs), kernels=(), findings=())
    page = shown_by(fleet_page(fleet))
    assert [section["heading"] for section in page["sections"]] == ["Jobs"]
    assert any(sentence.startswith("no run has times of kernels") for sentence in page["sentences"])


def test_several_folders_are_refused_with_what_makes_them_one(tmp_path, capsys):
    folders = [str(write_foreign(tmp_path / name)) for name in ("a", "b c")]
    assert main(["fleet", *folders]) == 2
    error = capsys.readouterr().err
    assert f"cp -r {folders[0]}/. '{folders[1]}/.' all/" in error
