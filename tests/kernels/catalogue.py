"""All cases, each named once."""

from collections import Counter

from tests.kernels import cases_blocks, cases_elementwise, cases_library, cases_memory
from tests.kernels.case import Case

_SOURCES = (cases_elementwise, cases_library, cases_blocks, cases_memory)

CASES: tuple[Case, ...] = tuple(case for source in _SOURCES for case in source.cases())

_repeated = [name for name, count in Counter(case.name for case in CASES).items() if count > 1]
assert not _repeated, _repeated
