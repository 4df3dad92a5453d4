"""Tools of `kvtrace mcp` over a suite, called by the SDK's own client."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[2] / "fixtures" / "suite"
CANDIDATES = Path(__file__).with_name("candidates")


async def answers(*calls):
    from mcp import Client, StdioServerParameters  # not in processes that run none of these tests

    serving = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kvtrace", "mcp", "--root", str(SUITE), "--root", str(CANDIDATES)],
    )
    async with Client(serving) as client:
        return [await client.call_tool(name, arguments) for name, arguments in calls]


def answered(*calls):
    # In a separate thread, since a browser of another test may run an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, answers(*calls)).result()


def judging(candidate):
    return {"suite": str(SUITE), "candidate": candidate, "calls": ["002-*"]}


@pytest.mark.process
def test_a_client_lists_calls_and_a_candidate_outside_of_the_roots_is_refused():
    listed, refused = answered(
        ("suite_calls", {"suite": str(SUITE)}),
        ("suite_judge", judging(f"{SUITE.parent}/other.py:f")),
    )

    content = json.loads(listed.content[0].text)
    norm = content["calls"][1]
    assert content["weighed_by"] == "device time"
    assert norm["name"].startswith("002-")
    assert norm["median_ns"] > 0
    assert refused.is_error
    assert "is not below the server's roots" in refused.content[0].text


@pytest.mark.process
@pytest.mark.night("9 s; test_judging.py judges candidates, and commands/test_mcp.py by a client")
def test_a_client_judges_a_candidate():
    (judged,) = answered(("suite_judge", judging(f"{CANDIDATES}/rms_norm.py:without_weight")))

    (judgment,) = json.loads(judged.content[0].text)
    assert judgment["verdict"] == "wrong"
    assert judgment["findings"][0]["rule"] == "wrong-result"
