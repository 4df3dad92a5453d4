"""Sentences about a candidate's forbidden actions: files, processes, network, object searches."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

HINT: Final = "a file of kernels does not need this; remove it"
_WORDS: Final = {
    "writes": "changes files outside of its folder",
    "processes": "starts or signals processes",
    "network": "uses the network",
    "reaches": "searches for objects of the process that calls it",
}
_MOST_EXAMPLES: Final = 3


def behavior_sentences(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each kind of observed action, with a sentence that lists up to three examples."""
    examples_by_kind: dict[str, dict[str, None]] = {}
    for event in events:
        examples = examples_by_kind.setdefault(str(event["kind"]), {})
        if len(examples) < _MOST_EXAMPLES:
            examples[str(event.get("what"))] = None
    for kind, examples in examples_by_kind.items():
        yield kind, f"the candidate {_WORDS.get(kind, kind)}, or tries to: {', '.join(examples)}"
