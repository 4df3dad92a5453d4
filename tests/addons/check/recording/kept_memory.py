"""What a trace has of checked launches, as tests look at it."""

from dataclasses import dataclass

from kvtrace.addons.check.kept import checked_launches
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate


@dataclass
class Kept:
    """What a trace has of checks."""

    launches: dict  # seq → row of checked_launches
    memory: dict  # (seq, argument, when) → spans, and the bytes of each
    messages: dict  # code → texts and counts


def kept(out):
    trace = open_trace(out)
    assert validate(out) == []
    launches = {row["seq"]: row for row in plain_rows(trace.table("checked_launches"))}
    memory = {}
    for row in plain_rows(trace.table("checked_memory")):
        content, parts, at = trace.artifact(row["artifact"]), [], 0
        for span in row["spans"]:
            parts.append((span["offset_bytes"], content[at : at + span["size_bytes"]]))
            at += span["size_bytes"]
        assert at == len(content)
        memory[row["seq"], row["arg"], row["when"]] = parts
    messages = {}
    for row in plain_rows(trace.table("messages")):
        messages.setdefault(row["code"], []).append((row["text"], row["count"]))
    for seq, row in launches.items():
        own = [parts for key, parts in memory.items() if key[0] == seq]
        assert row["bytes"] == sum(len(part) for parts in own for _, part in parts)
    return Kept(launches, memory, messages)


def checked(out):
    trace = open_trace(out)
    return list(checked_launches(trace, trace.runs[0]))
