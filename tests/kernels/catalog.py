"""All cases, each named once, and those that the installed Triton can compile."""

from collections import Counter

from tests.kernels import (
    cases_blocks,
    cases_conversions,
    cases_elementwise,
    cases_library,
    cases_memory,
)
from tests.kernels.case import Case
from tests.support.triton_versions import missing_for

_SOURCES = (cases_elementwise, cases_conversions, cases_library, cases_blocks, cases_memory)

#: What the documentation lists.
ALL_CASES: tuple[Case, ...] = tuple(case for source in _SOURCES for case in source.cases())

#: What this Triton lacks, by the case that needs it.
LEFT_OUT: dict[str, str] = {
    case.name: lacking
    for case in ALL_CASES
    if (lacking := missing_for(case.kernel, case.constexprs))
}
CASES: tuple[Case, ...] = tuple(case for case in ALL_CASES if case.name not in LEFT_OUT)

_repeated = [name for name, count in Counter(case.name for case in ALL_CASES).items() if count > 1]
assert not _repeated, _repeated
