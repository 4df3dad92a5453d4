"""Identity of kernels: the one definition by which every output counts and sums kernels; makers.

A kernel is a name in a module, whatever the source is: an edited program keeps its kernels.
A generated kernel is in no module, and is a name with a source text, since Inductor gives the same
name to unrelated kernels; the text's file differs from rank to rank.

A kernel's maker is the origin that the trace names, or a library recognized by the name.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.lines import GENERATED, HASH_SHOWN
from kvtrace.figures.names import readable
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.without_ir import TRITON_ORIGINS

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Columns of `kernels` from which `with_source` makes the column `source`.
SOURCE_COLUMNS: Final = ("module", "source_artifact", "file")
#: The column `source` in SQL, for a row `k` of `kernels`.
SOURCE: Final = "CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END"
#: Shown for a kernel without a name.
NO_NAME: Final = "(no name)"


class KernelKey(NamedTuple):
    """The identity of a kernel; fields that are not known are empty texts.

    Attributes:
        module: The module that defines the kernel; empty for a generated kernel.
        name: The function's name.
        source: The hash of a generated kernel's source, or the file if the source is not recorded.

    """

    module: str
    name: str
    source: str = ""

    @classmethod
    def of(cls, module: str | None, name: str | None, source: str | None) -> Self:
        """Return the key of a kernel, of which some may not be known."""
        return cls(module or "", name or "", source or "")


class Keyed:
    """A row with the module, name and source of a kernel."""

    __slots__ = ()
    module: str | None
    name: str
    source: str | None

    @property
    def key(self) -> KernelKey:
        """The kernel's identity."""
        return KernelKey.of(self.module, self.name, self.source)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels that the row is about."""
        return (self.name,)


def key_of(row: Mapping[str, Any]) -> KernelKey:
    """Return the key of the kernel in a row of `kernels` with `name` and `SOURCE_COLUMNS`."""
    source = row["source_artifact"] or row["file"] if row["module"] is None else None
    return KernelKey.of(row["module"], row["name"], source)


def with_source(kernels: pa.Table) -> pa.Table:
    """Return `kernels` with a column `source`: generated kernels' hash or file, else null."""
    module, text, file = (without_dictionary(kernels[name]) for name in SOURCE_COLUMNS)
    source = pc.coalesce(text.cast(pa.string()), file.cast(pa.string()))
    return kernels.append_column(
        "source", pc.if_else(pc.is_null(module), source, pa.scalar(None, pa.string()))
    )


class Named(Protocol):
    """A row with a name, and a module and file by which equal names are distinguished."""

    @property
    def name(self) -> str:
        """The name, which may not be unique."""

    @property
    def module(self) -> str | None:
        """The module of a kernel, if known."""

    @property
    def file(self) -> str | None:
        """The source file, if known."""


def names_apart(rows: Sequence[Named]) -> list[str]:
    """Return the shown name of each row; to names that occur twice, "(module or file)" is added."""
    name_counts = Counter(row.name for row in rows)
    names = []
    for row in rows:
        origin = row.module or _short(row.file)
        is_ambiguous = name_counts[row.name] > 1 and origin is not None
        name = row.name or NO_NAME
        names.append(f"{name} ({origin})" if is_ambiguous else name)
    return names


def _short(file: str | None) -> str | None:
    if file is None:
        return None
    stem = PurePath(file).stem
    return stem[:HASH_SHOWN] if re.fullmatch(GENERATED, stem) else stem


def kernel_rows(trace: "Trace", runs: Sequence["Run"], columns: Sequence[str]) -> pa.Table:
    """Return columns of `kernels` and `run`; the derived column `source` may be among `columns`.

    Errors as `Trace.table`.
    """
    if "source" not in columns:
        return trace.table("kernels", runs, columns)
    stored = dict.fromkeys([*(name for name in columns if name != "source"), *SOURCE_COLUMNS])
    return with_source(trace.table("kernels", runs, list(stored))).select([*columns, "run"])


# -- makers of kernels -----------------------------------------------------------------------------


#: Maker of kernels with a known launch that Triton's compiler made.
TRITON: Final = "Triton"
#: Maker of kernels of another tool's trace that are of no known library: their compiler, Triton
#: or another, is not recorded.
CUSTOM: Final = "custom"
#: Maker of kernels whose producer does not say what made them.
UNKNOWN: Final = "unknown"
#: Maker of kernels that nothing but their name makes a library's, as `gemm_sm90_kernel`.
BY_NAME: Final = "a library (by its name)"

_PUBLIC: Final = "public traces"  # of tests/support/kernel_names.tsv
_ROCM: Final = "https://github.com/ROCm/rocm-libraries"
_INDUCTOR: Final = "https://github.com/pytorch/pytorch, torch/_inductor/codegen/triton.py"
#: Makers with patterns of readable kernel names, and where such names are from; the first that
#: matches counts.
_PATTERNS: Final = (
    # Before the others: some of Inductor's kernels have gemm in their names.
    ("Inductor", r"triton_(poi|per|red|tem|for|spl|unk)_|triton__\d", _INDUCTOR),
    ("other", r"triton_", "the user's own"),
    ("NCCL", r"nccl|rccl|msccl", "https://github.com/NVIDIA/nccl, src/device"),
    # fft2d_*: its convolutions by transforms of tiles
    ("cuDNN", r"\w*cudnn|fft2d_|implicit_convolve_\w*gemm", _PUBLIC),
    ("cuFFT", r"(regular|vector)_fft|cufft", _PUBLIC),
    ("Tensile", r"(Custom_)?[CD]ijk_", _ROCM),  # the products of rocBLAS and hipBLASLt
    ("rocBLAS", r"rocblas|hipblas", _ROCM),
    (
        "MIOpen", r"(?i)miopen|naive_conv_|gridwise_convolution|Im2d2Col|batched_transpose_\d",
        _ROCM,
    ),
    ("CK", r"ck(_tile)?::", _ROCM),
    ("ROCclr", r"__amd_rocclr_", "https://github.com/ROCm/clr"),
    ("FBGEMM", r"fbgemm", "https://github.com/pytorch/FBGEMM"),
    ("MAGMA", r"magma_", "https://github.com/icl-utk-edu/magma"),
    ("CUB", r"(thrust|cub|hipcub|rocprim)::", "https://github.com/NVIDIA/cccl"),
    (
        "cuBLAS",
        r"cublas|nvjet_|splitKreduce_|gemmk1_|scal_kernel|gemmSN_|(internal::)?gemv|sm\d+_xmma_|"
        r"((maxwell|pascal|volta|turing|ampere|hopper|blackwell)_\w*|[hsdczi])gemm_(largek_|\w*\d+x\d+)",
        _PUBLIC,
    ),
    ("CUTLASS", r"cutlass", "https://github.com/NVIDIA/cutlass"),
    ("FlashAttention", r"flash::|flash_fwd|flash_bwd", "https://github.com/Dao-AILab/flash-attention"),
    (BY_NAME, r"[^:]*[a-z]gemm_|gemm_|(?!_)[^:]*_gemm_", "any library, or the user's own"),
    (
        "torch", r"at::|at_cuda_detail|c10::|\(anonymous\)::|fmha_cutlass[FB]_",
        "https://github.com/pytorch/pytorch",
    ),
)  # fmt: skip
_MAKERS: Final = tuple((maker, re.compile(pattern)) for maker, pattern, _ in _PATTERNS)

#: Makers, and copies and fills, of executions without a recorded launch. All other makers are those
#: of rows of `kernels`.
NOT_OWN: Final = (*(maker for maker, _ in _MAKERS), "copy", "fill", "other")
#: The maker of a row of `kernels`, in SQL: another producer's kernels are named as it names them.
OWN_KIND: Final = f"""
    CASE WHEN origin IS NULL THEN '{UNKNOWN}' WHEN origin IN {TRITON_ORIGINS} THEN '{TRITON}'
        WHEN origin = '{IMPORTED}' THEN '{CUSTOM}'
        WHEN origin IN {NOT_OWN} THEN origin || ' kernel' ELSE origin END
"""


def own_kind(origin: str | None) -> str:
    """Return the maker of a row of `kernels`, as `OWN_KIND` does in SQL."""
    if origin is None:
        return UNKNOWN
    if origin in TRITON_ORIGINS:
        return TRITON
    if origin == IMPORTED:
        return CUSTOM
    return f"{origin} kernel" if origin in NOT_OWN else origin


def is_own(kind: str) -> bool:
    """Return whether a kind is the maker of rows of `kernels`, not a library or copies."""
    return kind not in NOT_OWN


def kind_of(name: str, of_memory: str | None = None) -> str:
    """Return the library of a kernel without a recorded launch, by its name, or "other".

    `of_memory` is the kind of a copy or fill; it is returned unchanged unless None.
    """
    if of_memory is not None:
        return of_memory
    readable_name = readable(name)
    return next((maker for maker, pattern in _MAKERS if pattern.match(readable_name)), "other")
