"""Pairs of programs, of which `cases.jsonl` has the parts."""

from pathlib import Path

from corpus.questions.diffs import cases_of

CASES = cases_of(Path(__file__).with_name("cases.jsonl"))
