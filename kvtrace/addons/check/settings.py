"""Settings of this add-on: data of launches to record for checks."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.schema.errors import BadSetting
from kvtrace.settings import AddedSetting, whole_number

if TYPE_CHECKING:
    from kvtrace.settings import Settings

_COUNT: Final = re.compile("[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Checks:
    """The parsed setting `check`: data of launches to record for checks.

    Attributes:
        first: record the memory of each kernel variant's first launch.
        sample: N: record the memory of a variant's first launch and of one launch in N after it;
            0: none.
        kernels: globs; record the memory of every launch of a matching kernel.
        finite: N: the outputs of one launch in N of each kernel variant, including its first, are
            checked for NaNs and infinities; 1: of all; 0: of none.
        digest: N: digests of outputs are made for one launch in N, counted in the same way.
    """

    first: bool = False
    sample: int = 0
    kernels: tuple[str, ...] = ()
    finite: int = 0
    digest: int = 0

    @property
    def any(self) -> bool:
        """Some data is recorded."""
        return self != Checks()

    @property
    def memory(self) -> bool:
        """The memory of some launches is recorded."""
        return self.first or self.sample > 0 or bool(self.kernels)


def checks_of(settings: "Settings") -> Checks:
    """Return the parsed setting `check`."""
    return _parse_checks(CHECK.of(settings))


def _parse_checks(text: str) -> Checks:
    """Parse the text of the setting `check`.

    Raises:
        BadSetting: a part of the text is invalid.
    """
    records_first, kernels = False, []
    intervals = {"sample": 0, "finite": 0, "digest": 0}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = part.partition(":")
        if part == "first":
            records_first = True
        elif part in ("finite", "digest"):
            intervals[part] = 1
        elif name in intervals and _COUNT.fullmatch(value):
            intervals[name] = int(value)
        elif name == "kernel" and value:
            kernels.append(value)
        else:
            raise BadSetting(
                f"the setting check has an invalid part {part!r}; parts, separated by commas, are "
                "first, sample:N (N above 0), kernel:GLOB, finite[:N] and digest[:N]"
            )
    return Checks(records_first, kernels=tuple(kernels), **intervals)


def _valid_text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadSetting(f"the setting check must be text, not {value!r}")
    _parse_checks(value)
    return value


CHECK: Final = AddedSetting(
    name="check",
    default="",
    about="which data of launches is kept so that they can be checked ([check](check.md)), "
    "separated by commas: `first`, memory before and after each kernel variant's first launch; "
    "`sample:N`, of that and one launch in N after it; `kernel:GLOB`, of every launch of kernels "
    "of that name; `finite`, whether outputs hold NaNs or infinities; `digest`, digests of "
    "outputs; both for all launches, or with `:N` for one in N of each kernel variant. Empty: none",
    read=_valid_text,
    option=(
        "first,sample:N,kernel:GLOB,finite[:N],digest[:N]",
        "Which launches' data to keep for checks",
    ),
    needs=("numpy",),
)
CHECK_BYTES: Final = AddedSetting(
    name="check_bytes",
    default=1 << 30,
    about="the most bytes that `KVTRACE_CHECK` keeps in a run",
    read=lambda value: whole_number("check_bytes", value),
)
