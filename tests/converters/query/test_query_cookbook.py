"""The questions of docs/cookbook.md, asked of recorded traces; answers compared with loops."""

import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import pytest

from kvtrace.converters.query.query import connect, query
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.schema.features import TRIALS
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cookbook.md").read_text()
QUESTIONS = {
    int(number): sql
    for number, sql in re.findall(r"^## (\d+)\. [^\n]+\n\n```sql\n(.*?)```", PAGE, re.S | re.M)
}


class Rows:
    """The rows of a recorded trace as dictionaries, and what the questions answer."""

    def __init__(self, name):
        self.trace = open_trace(ROOT / "tests" / "fixtures" / "h200" / name)
        self._tables = {}

    def answer(self, number):
        with connect(self.trace, self.trace.runs, QUESTIONS[number]) as database:
            names, rows = query(database, QUESTIONS[number])
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __getattr__(self, name):
        if name not in self._tables:
            self._tables[name] = plain_rows(self.trace.table(name))
        return self._tables[name]

    def kernel(self, row):
        """The kernel's row of a row with run and call_id."""
        key = "kernel"
        if key not in self._tables:
            kernels = {(k["run"], k["kernel_id"]): k for k in self.kernels}
            self._tables[key] = {
                (c["run"], c["call_id"]): kernels[c["run"], c["kernel_id"]] for c in self.calls
            }
        return self._tables[key].get((row["run"], row["call_id"]))

    @property
    def steady(self):
        """Executions of Triton's kernels that no trial made."""
        tuned = {(r["run"], r["seq"]) for r in self.launches if r["phase"] in TRIALS}
        return [
            r for r in self.gpu_kernels
            if r["call_id"] is not None and (r["run"], r["launch_seq"]) not in tuned
        ]  # fmt: skip

    def compiling(self, row):
        kernel = self.kernel(row)
        begins = (kernel["compile_begin"], kernel["load_begin"])
        return any(b is not None and row["enter"] <= b < row["exit"] for b in begins)


@pytest.fixture(scope="module")
def ranks():
    return Rows("llama_ranks")


@pytest.fixture(scope="module", params=["llama_ranks", "train"])
def either(request):
    return Rows(request.param)


def host(row):
    return row["exit"] - row["enter"]


def device(row):
    return row["end"] - row["start"]


def summed(rows, key, value):
    found = Counter()
    for row in rows:
        found[key(row)] += value(row)
    return found


def test_there_are_twenty_questions():
    assert list(QUESTIONS) == list(range(1, 21))


def shown(row):
    return KernelKey(row["module"] or "", row["kernel"], row["source"] or "")


def test_1_kernels_by_time_on_devices(ranks):
    found = ranks.answer(1)
    expected = summed(ranks.steady, lambda r: key_of(ranks.kernel(r)), device)
    assert [int(row["device_ns"]) for row in found] == sorted(expected.values(), reverse=True)[:20]
    assert all(expected[shown(row)] == row["device_ns"] for row in found)


def test_2_kernels_by_time_to_launch(either):
    found = either.answer(2)
    plain = [r for r in either.launches if r["phase"] not in TRIALS]
    number = Counter(key_of(either.kernel(r)) for r in plain)
    assert {shown(row) for row in found} <= set(number)
    assert all(row["launches"] == number[shown(row)] for row in found)
    most = summed(plain, lambda r: key_of(either.kernel(r)), host)
    for row in found:
        assert 0 < row["host_ns"] <= most[shown(row)]
        assert 1_000 < row["mean_ns"] < 10_000_000  # a launch takes microseconds


def test_3_launches_of_each_rank(either):
    found = {row["run_id"]: row for row in either.answer(3)}
    plain = Counter(r["run"] for r in either.launches if r["phase"] not in TRIALS)
    assert {run: row["launches"] for run, row in found.items()} == plain
    assert sum(row["calls"] for row in found.values()) == len(either.calls)


def test_4_kernels_in_several_variants(either):
    variants = Counter((k["run"], k["module"], k["name"]) for k in either.kernels)
    expected = {key: count for key, count in variants.items() if count > 1}
    found = either.answer(4)
    assert {(r["run"], r["module"], r["name"]): r["variants"] for r in found} == expected


def test_5_cost_of_compiling(either):
    found = either.answer(5)
    assert sum(row["kernels"] for row in found) == len(either.kernels)
    spent = sum(k["compile_ns"] or 0 for k in either.kernels)
    assert sum(int(row["compile_ns"] or 0) for row in found) == spent
    means = {row["cache_hit"]: row["compile_ns"] / row["kernels"] for row in found}
    assert len(means) == 1 or means[True] < means[False]


def test_6_slowest_launches(either):
    expected = sorted((host(r) for r in either.launches), reverse=True)[:10]
    assert [row["host_ns"] for row in either.answer(6)] == expected


def test_7_medians_on_the_device(ranks):
    times = defaultdict(list)
    for row in ranks.gpu_kernels:
        if row["call_id"] is not None:
            times[ranks.kernel(row)["name"]].append(device(row))
    found = ranks.answer(7)
    assert {row["kernel"]: row["median_ns"] for row in found} == {
        name: median(values) for name, values in times.items()
    }
    for row in found:
        assert row["median_ns"] <= row["slow_ns"] <= max(times[row["kernel"]])


def test_8_calls_by_grid(ranks):
    expected = summed(ranks.steady, lambda r: (r["run"], r["call_id"]), device)
    found = ranks.answer(8)
    assert [row["device_ns"] for row in found] == sorted(expected.values(), reverse=True)[:20]
    grids = {(c["run"], c["call_id"]): c["grid_x"] for c in ranks.calls}
    assert all(row["grid_x"] == grids[row["run"], row["call_id"]] for row in found)


def test_9_lines_that_launch(either):
    frames = {s["stack_id"]: s["frames"][0] for s in either.stacks}
    stack = {(c["run"], c["call_id"]): frames[c["stack_id"]] for c in either.calls}
    expected = Counter()
    for row in either.launches:
        frame = stack[row["run"], row["call_id"]]
        expected[frame["file"], frame["line"]] += row["phase"] not in TRIALS
    found = {(r["called_file"], r["called_line"]): r["launches"] for r in either.answer(9)}
    assert found == expected


def test_10_what_is_not_triton(ranks):
    expected = Counter()
    for row in ranks.gpu_kernels:
        other = "Triton" if row["call_id"] is not None else row["kind"] or "other kernels"
        expected[other] += device(row)
    assert {row["whose"]: row["device_ns"] for row in ranks.answer(10)} == expected


def test_11_copies(ranks):
    found = {row["name"]: row for row in ranks.answer(11)}
    rows = [r for r in ranks.gpu_kernels if r["kind"] is not None]
    assert sum(row["bytes"] for row in found.values()) == sum(r["bytes"] for r in rows)
    onto = found["memcpy device to device"]["gb_per_s"]
    off = found["memcpy device to host"]["gb_per_s"]
    assert off < 64 < onto < 2_400  # PCIe 5 has 64 GB/s; an H200's memory 4,800, both ways


def test_12_streams(ranks):
    found = ranks.answer(12)
    assert sum(row["busy_ns"] for row in found) == sum(map(device, ranks.gpu_kernels))
    assert all(row["busy_ns"] <= row["span_ns"] for row in found)


def test_13_longest_waits(ranks):
    streams = defaultdict(list)
    for row in ranks.gpu_kernels:
        streams[row["run"], row["device"], row["stream"]].append(row)
    waits = []
    for rows in streams.values():
        rows.sort(key=lambda r: (r["start"], r["record"]))
        waits += [after["start"] - before["end"] for before, after in zip(rows, rows[1:])]  # noqa: B905, RUF007
    found = ranks.answer(13)
    assert [row["waited_ns"] for row in found] == sorted(waits, reverse=True)[:10]
    assert all(row["before"] and row["after"] for row in found)


def test_14_time_in_the_queue(ranks):
    left = {(r["run"], r["seq"]): r["exit"] for r in ranks.launches}
    queued = defaultdict(list)
    for row in ranks.gpu_kernels:
        if row["launch_seq"] is not None and row["graph_id"] is None:
            waited = row["start"] - left[row["run"], row["launch_seq"]]
            queued[ranks.kernel(row)["name"]].append(waited)
    found = {row["kernel"]: row["median_queued_ns"] for row in ranks.answer(14)}
    assert found == {name: median(values) for name, values in queued.items()}


def test_15_slowest_rank(ranks):
    rank = {run.run_id: run.rank for run in ranks.trace.runs}
    times = defaultdict(lambda: defaultdict(list))
    for row in ranks.steady:
        times[ranks.kernel(row)["name"]][rank[row["run"]]].append(device(row))
    found = ranks.answer(15)
    assert len(found) == len(times)
    for row in found:
        means = {r: sum(v) / len(v) for r, v in times[row["kernel"]].items()}
        assert row["ratio"] == pytest.approx(max(means.values()) / min(means.values()))
        assert means[row["slowest"]] == max(means.values())


def test_16_launches_in_marks(ranks):
    found = ranks.answer(16)
    marks = [m for m in ranks.marks if m["end"] is not None]
    assert len(found) == len(marks)
    for mark in marks:
        inside = [
            host(r) for r in ranks.launches
            if r["run"] == mark["run"] and mark["begin"] <= r["enter"] < mark["end"]
        ]  # fmt: skip
        (row,) = (r for r in found if (r["run"], r["mark_id"]) == (mark["run"], mark["mark_id"]))
        assert (row["launches"], int(row["host_ns"] or 0)) == (len(inside), sum(inside))


def test_17_cost_of_autotuning(ranks):
    trials = [r for r in ranks.launches if r["phase"] in TRIALS]
    found = ranks.answer(17)
    assert {row["kernel"]: row["trials"] for row in found} == Counter(
        ranks.kernel(r)["name"] for r in trials
    )
    assert sum(row["host_ns"] for row in found) == sum(map(host, trials))


def test_18_launches_that_waited(either):
    compiled = [host(r) for r in either.launches if either.compiling(r)]
    found = [row["waited_ns"] for row in either.answer(18)]
    assert found == sorted(found, reverse=True)
    assert len(found) >= min(20, max(1, len(compiled)))
    assert found[0] >= max(compiled, default=1_000_000)  # else it tuned, for milliseconds


def test_19_launches_over_time(either):
    begin = {}
    for row in either.launches:
        begin[row["run"]] = min(row["enter"], begin.get(row["run"], row["enter"]))
    expected = Counter(
        (r["run"], (r["enter"] - begin[r["run"]]) // 1_000_000_000) for r in either.launches
    )
    assert {(r["run"], r["second"]): r["launches"] for r in either.answer(19)} == expected


def test_20_registers_and_spills(ranks):
    known = [k for k in ranks.kernels if k["registers"] is not None]
    found = ranks.answer(20)
    assert found[0]["spills"] == max(k["spills"] for k in known)
    assert all(0 < row["registers"] <= 255 for row in found)
    assert {row["name"] for row in found} <= {k["name"] for k in known}
