"""Replays of graphs, counted by the driver's calls, against executions over nodes of each graph."""

import json
from pathlib import Path

import duckdb
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import notable_sentences
from kvtrace.figures.graph_replays import GraphReplays, read_graph_replays
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import EPOCH

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUN = "20260102T030405-0001"


def by_nodes(trace):
    """Executions of each graph over its nodes; every node runs once in a replay."""
    files = str(FIXTURES / "h200" / trace / "gpu_kernels/*/*.parquet")
    rows = duckdb.sql(f"""
        SELECT count(*), count(DISTINCT graph_node_id) FROM '{files}'
        WHERE graph_id IS NOT NULL GROUP BY graph_id""").fetchall()
    return sum(executions // nodes for executions, nodes in rows), sum(n for n, _ in rows)


def test_replays_are_those_that_each_node_ran(capsys):
    trace = open_trace(FIXTURES / "h200/llama_graphs")
    found = read_graph_replays(trace, trace.runs)
    assert (found.replays, found.executions) == by_nodes("llama_graphs")
    assert found.graphs == 2
    assert main(["info", str(trace.path)]) == 0
    assert found.sentence in " ".join(capsys.readouterr().out.split())
    assert main(["info", "--json", str(trace.path)]) == 0
    of_runs = json.loads(capsys.readouterr().out)["runs"]
    assert of_runs[0]["graph_replays"]["replays"] == found.replays


def test_a_profile_counts_the_replays_of_its_part():
    trace = open_trace(FIXTURES / "h200/llama_graphs")
    profile = read_profile(trace, trace.runs)
    whole = read_graph_replays(trace, trace.runs)
    steps = profile.device_time.steps.number
    assert profile.graph_replays.replays == steps * whole.graphs
    assert profile.graph_replays.sentence in notable_sentences(profile)


def test_without_graphs_nothing_is_said():
    trace = open_trace(FIXTURES / "h200/llama_steady")
    assert read_graph_replays(trace, trace.runs) is None


@pytest.mark.parametrize(
    ("replays", "expected"),
    [
        ([(1, 7), (1, 7), (1, 8), (1, 7)], GraphReplays(1, 2, 4, 4)),  # overlapping on two streams
        ([(1, 7), (2, 7), (None, 9)], GraphReplays(2, 2, 2, 3)),
        ([(None, 7), (None, 8)], None),
        ([(None, 7), (None, 7), (None, 8)], GraphReplays(0, 1, 2, 3)),  # of another tool's file
    ],
)
def test_rows_of_overlapping_replays_are_not_sorted(tmp_path, replays, expected):
    writer = RunWriter(tmp_path, RUN)
    graph, correlation = (list(column) for column in zip(*replays, strict=True))
    times = [EPOCH + number for number in range(len(replays))]
    writer.append(
        "gpu_kernels",
        {
            "record": list(range(len(replays))), "start": times, "end": times,
            "graph_id": graph, "correlation_id": correlation, "name": ["k"] * len(replays),
            "requested": times,
        },
    )  # fmt: skip
    writer.flush()
    source = None if any(graph) else "kineto"
    writer.seal({"run_id": RUN, "started": EPOCH, "ended": EPOCH + 10, "source": source})
    trace = open_trace(tmp_path)
    assert read_graph_replays(trace, trace.runs) == expected
