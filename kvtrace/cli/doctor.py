"""`kvtrace doctor`: what works on this machine, and what to do about what does not."""

import json
import os
from dataclasses import asdict
from typing import Annotated

from kvtrace.cli.parsing import Option


def command(
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of text")] = False,
) -> int:
    """Say what works on this machine: recording, the device timeline, judging, rendering.

    Each line is ok, missing (nothing is wrong, but something is not possible) or broken, with what
    to do. The exit code is 1 where something is broken.

    Example:
        kvtrace doctor
        kvtrace doctor --json

    """
    from kvtrace.cli.machine import examined
    from kvtrace.cli.options import say

    found = examined(os.environ)
    if as_json:
        print(json.dumps([asdict(each) for each in found], indent=2))
    else:
        width = max(len(each.name) for each in found)
        for each in found:
            say(f"{each.state:<8} {each.name:<{width}}  {each.text}")
            if each.advice:
                say(f"{'':<8} {'':<{width}}  → {each.advice}")
    return int(any(each.state == "broken" for each in found))
