"""`kvtrace mcp`, asked by the SDK's own client over standard input and output."""

import asyncio
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from mcp import Client, StdioServerParameters

from kvtrace.addons.judge.commands.mcp import server
from tests.addons.judge.labelled import FOLDER, labelled
from tests.cli.conftest import own_trace, sound_trace

__all__ = ["own_trace", "sound_trace"]


def asked(*calls, serving=None):
    """Return what the server answers to some calls, and its tools."""
    serving = serving or StdioServerParameters(
        command=sys.executable, args=["-m", "kvtrace", "mcp"]
    )

    async def ask():
        async with Client(serving) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, given) for name, given in calls]

    # In a thread of its own: a browser that another test of this process has open runs a loop here.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()


@pytest.fixture
def trace(own_trace, tmp_path):
    return str(shutil.copytree(own_trace, tmp_path / "copy"))


@pytest.mark.process
def test_a_real_client_finds_the_tools_and_judges(trace):
    kernel = str(labelled("wrong")["add_no_mask"])
    reference = f"{FOLDER / 'references.py'}:add"

    tools, (judged, counted) = asked(
        ("judge", {"kernel": kernel, "reference": reference}),
        ("sql", {"trace": trace, "statement": "SELECT count(*) AS n FROM launches"}),
    )

    assert set(tools) == {"judge", "sanitize", "profile", "diff", "sql"}
    assert all(tool.description for tool in tools.values())
    assert "unconfined" not in tools["judge"].input_schema["properties"]
    assert not judged.is_error
    told = json.loads(judged.content[0].text)
    assert told["verdict"] == "wrong"
    assert told["findings"][0]["rule"] == "out-of-bounds"
    answer = json.loads(counted.content[0].text)
    assert (answer["columns"], answer["more"]) == (["n"], False)
    assert answer["rows"][0]["n"] > 0


def test_tools_over_traces_give_what_the_commands_print(trace):
    _, (found, profiled, compared, rows) = asked(
        ("sanitize", {"trace": trace}),
        ("profile", {"trace": trace, "device": "A100 PCIe 80GB"}),
        ("diff", {"before": trace, "after": trace}),
        ("sql", {"trace": trace, "statement": "FROM launches", "rows": 1}),
        serving=server(),
    )  # fmt: skip
    assert isinstance(json.loads(found.content[0].text), list)
    assert json.loads(profiled.content[0].text)["kernels"]
    assert json.loads(compared.content[0].text)
    assert len(json.loads(rows.content[0].text)["rows"]) == 1


@pytest.mark.process
def test_what_cannot_be_done_is_an_error_with_its_sentence(tmp_path):
    _, (missing, unread) = asked(
        ("sanitize", {"trace": str(tmp_path / "nowhere")}),
        ("judge", {"kernel": str(tmp_path / "gone.py")}),
        serving=server(),
    )
    assert missing.is_error
    assert "nowhere" in missing.content[0].text
    assert unread.is_error
    assert "gone.py cannot be read" in unread.content[0].text
