"""`kvtrace mcp`, called by the SDK's own client over standard input and output."""

import asyncio
import json
import shutil
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from kvtrace.addons.agents.commands.mcp import Roots, server
from tests.cli.conftest import own_trace, sound_trace

__all__ = ["own_trace", "sound_trace"]

#: A browser of another test may run an event loop in the main thread.
LOOPS = ThreadPoolExecutor(1)


def answers_of(*calls, serving):
    """Return the server's tools, and its answers to calls."""
    from mcp import Client  # 33 MB, and a second, for a process that runs none of these tests

    async def ask():
        async with Client(serving) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return result_of(ask())


def result_of(coroutine):
    """Return a coroutine's result, from a thread without an event loop."""
    return LOOPS.submit(asyncio.run, coroutine).result()


@pytest.fixture
def trace(own_trace, tmp_path):
    return str(shutil.copytree(own_trace, tmp_path / "copy"))


@pytest.mark.process
def test_a_real_client_finds_the_tools_over_traces_and_asks_one(trace):
    from mcp import StdioServerParameters

    tools, (counted,) = answers_of(
        ("sql", {"trace": trace, "statement": "SELECT count(*) AS n FROM launches"}),
        serving=StdioServerParameters(
            command=sys.executable, args=["-m", "kvtrace", "mcp", "--root", "/", "--root", "."]
        ),
    )

    assert set(tools) == {"sanitize", "profile", "diff", "sql"}
    assert all(tool.description for tool in tools.values())
    answer = json.loads(counted.content[0].text)
    assert (answer["columns"], answer["more"]) == (["n"], False)
    assert answer["rows"][0]["n"] > 0


@pytest.mark.process
def test_tools_over_traces_give_what_the_commands_print(trace):
    _, (findings, profiled, compared, rows) = answers_of(
        ("sanitize", {"trace": trace}),
        ("profile", {"trace": trace, "device": "A100 PCIe 80GB"}),
        ("diff", {"before": trace, "after": trace}),
        ("sql", {"trace": trace, "statement": "FROM launches", "rows": 1}),
        serving=server([trace]),
    )  # fmt: skip
    keys = {"schema", "version", "counts", "verdicts", "unjudged"}
    assert set(json.loads(findings.content[0].text)) == keys
    assert json.loads(profiled.content[0].text)["kernels"]
    assert json.loads(compared.content[0].text)
    assert len(json.loads(rows.content[0].text)["rows"]) == 1


@pytest.mark.process
def test_failed_tool_call_is_an_error_with_a_sentence(trace, tmp_path):
    _, (missing, unread) = answers_of(
        ("sanitize", {"trace": str(tmp_path / "nowhere")}),
        ("sql", {"trace": trace, "statement": "SELECT nothing FROM launches"}),
        serving=server([str(tmp_path)]),
    )
    assert missing.is_error
    assert "nowhere" in missing.content[0].text
    assert unread.is_error
    assert '"nothing" not found' in unread.content[0].text


@pytest.fixture
def listener():
    """Yield a listening socket of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        yield listening


@pytest.mark.costly("waits whether a server is asked; other requests stay by day")
def test_no_request_leaves_for_an_address_that_no_root_allows(listener, tmp_path):
    host = "{}:{}".format(*listener.getsockname())
    addresses = [
        f"s3://bucket/out?endpoint_override={host}&scheme=http",
        f"s3:/bucket/out?endpoint_override={host}&scheme=http",
        f"s3://mine/out/../../bucket?endpoint_override={host}",
        f"s3://mine/out?endpoint_override={host}&scheme=http",
        f"s3://mine/outside?endpoint_override={host}&scheme=http",
        "gs://bucket/out",
    ]
    roots = [str(tmp_path), "s3://mine/out"]
    _, answers = answers_of(
        *(("sql", {"trace": address, "statement": "SELECT 1"}) for address in addresses),
        *(("diff", {"before": str(tmp_path), "after": address}) for address in addresses),
        serving=server(roots),
    )

    assert all(answer.is_error for answer in answers)
    assert all("--root s3://BUCKET/FOLDER" in answer.content[0].text for answer in answers)
    with pytest.raises(TimeoutError):
        listener.accept()


def test_addresses_below_a_root_keep_its_options_alone():
    roots = Roots(["s3://mine/out?region=eu"])
    assert roots.path("s3://mine/out") == "s3://mine/out?region=eu"
    assert roots.path("s3://mine/out/a") == "s3://mine/out/a?region=eu"


def test_paths_outside_of_roots_are_refused(trace, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(trace)
    shutil.copytree(trace, tmp_path / "inside" / "mixed")
    (tmp_path / "inside" / "mixed" / "stacks" / "part").symlink_to("/etc/hostname")
    inside = tmp_path / "inside"
    paths = [trace, "/", f"{inside}/../copy", str(inside / "link"), str(inside / "mixed")]

    _, answers = answers_of(
        *(("sql", {"trace": path, "statement": "SELECT 1"}) for path in paths),
        ("sanitize", {"trace": trace}),
        ("profile", {"trace": trace}),
        ("diff", {"before": str(inside), "after": trace}),
        serving=server([str(inside)]),
    )

    assert all(answer.is_error for answer in answers)
    assert all("is not below the server's roots" in answer.content[0].text for answer in answers)


@pytest.mark.process
def test_an_answer_is_bounded_in_time_and_rows_and_size(trace):
    endless = "SELECT count(*) FROM range(10000000000) a, range(10000000) b WHERE a.range % 7 = 3"
    _, (late,) = answers_of(
        ("sql", {"trace": trace, "statement": endless}), serving=server([trace], seconds=1)
    )
    assert late.is_error
    assert "no answer within 1 s" in late.content[0].text

    _, (many, large) = answers_of(
        ("sql", {"trace": trace, "statement": "FROM range(50000)", "rows": 10**9}),
        ("sql", {"trace": trace, "statement": "SELECT repeat('x', 9000000)"}),
        serving=server([trace]),
    )
    told = json.loads(many.content[0].text)
    assert (len(told["rows"]), told["more"]) == (10_000, True)
    assert large.is_error
    assert "request fewer rows" in large.content[0].text
