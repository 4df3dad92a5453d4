"""`kvtrace doctor`: the parts of kvtrace that work on this machine, and how to fix the others."""

import json
import os
from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.parsing import Option


def command(
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of text")] = False,
) -> int:
    """Show what works on this machine: recording, the device timeline, judging, rendering.

    Each line is ok, missing (no error, but a feature is unavailable) or broken, with what to do.
    The exit code is 1 if something is broken.

    Example:
        kvtrace doctor
        kvtrace doctor --json

    """
    from kvtrace.cli.machine import machine_parts
    from kvtrace.cli.options import say

    parts = machine_parts(os.environ)
    if as_json:
        print(json.dumps([asdict(part) for part in parts], indent=2))
    else:
        width = max(len(part.name) for part in parts)
        for part in parts:
            say(f"{part.state:<8} {part.name:<{width}}  {part.text}")
            if part.advice:
                say(f"{'':<8} {'':<{width}}  → {part.advice}")
    return int(any(part.state == "broken" for part in parts))
