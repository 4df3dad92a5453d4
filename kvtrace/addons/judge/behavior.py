"""What a candidate was seen to do besides computing, as text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

HINT: Final = "a kernel's file has no need to; leave it out"
_WORDS: Final = {
    "writes": "changes files outside of its folder",
    "processes": "starts or signals processes",
    "network": "uses the network",
    "reaches": "reaches for objects of the process that calls it",
}
_MOST_TOLD: Final = 3


def behavior_sentences(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Give each kind of what its log tells, and a sentence on it."""
    seen: dict[str, dict[str, None]] = {}
    for event in events:
        what = seen.setdefault(str(event["kind"]), {})
        if len(what) < _MOST_TOLD:
            what[str(event.get("what"))] = None
    for kind, what in seen.items():
        yield kind, f"the candidate {_WORDS.get(kind, kind)}, or tries to: {', '.join(what)}"
