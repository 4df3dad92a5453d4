"""Open vocabularies: columns whose words anybody may add to, and the words that have a meaning.

A reader keeps and shows a word that it does not know. A word of one producer has that producer's
name in front, as `acme:tile`, and needs nobody's consent. A word that several tools share becomes a
row below, by a pull request that says what it means; a word never changes its meaning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The registered words of columns, each with its meaning; `columns` as `table.column.field`."""

    name: str
    columns: tuple[str, ...]
    words: Mapping[str, str]


_INTEGERS: Final = {
    f"{sign}{bits}": f"{'signed' if sign == 'i' else 'unsigned'} integer of {bits} bits"
    for sign in ("i", "u")
    for bits in (8, 16, 32, 64)
}

#: Torch's names of element types by Triton's names; other types have the same name.
TORCH_NAMES: Final = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e5": "float8_e5m2", "fp8e4nv": "float8_e4m3fn", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
#: Triton's names of element types by torch's.
SHORT_NAMES: Final = {name: short for short, name in TORCH_NAMES.items()}

#: Dialects by the stage, and kind of artifact, that is written in them.
DIALECTS: Final = {
    "ttir": "triton",
    "ttir_generic": "triton",
    "glir": "gluon",
    "ttgir": "triton-gpu",
    "llir": "llvm",
    "ptx": "ptx",
    "amdgcn": "amdgcn",
    "tileir": "cuda-tile",
    "stablehlo": "stablehlo",
}

VOCABULARIES: Final = (
    Vocabulary(
        "origin",
        ("kernels.origin",),
        {
            "jit": "written in Triton and launched through its JIT",
            "autotune": "written in Triton; a configuration that an autotuner tried or chose",
            "inductor": "Triton code that torch.compile generated",
            "gluon": "written in Gluon, autotuned or not",
            "interpreter": "written in Triton and run by its interpreter, on the host",
            "nki": "written in the Neuron Kernel Interface",
            "numpy": "a NumPy function that was traced as a tensor graph",
            "numba": "written in Numba",
            "cute": "written in CuTe DSL",
            "tilelang": "written in TileLang",
            "cutile": "written in cuTile",
            "imported": "another tool recorded only its executions; its maker is not known",
        },
    ),
    Vocabulary(
        "kind of argument",
        ("calls.args.kind",),
        {
            "tensor": "a pointer to a tensor's elements, with shape and strides",
            "scalar": "a number or a flag, passed by value",
            "constexpr": "a value that was compiled into the kernel",
            "descriptor": "a tensor descriptor, made on the host",
            "other": "anything else",
        },
    ),
    Vocabulary(
        "dtype",
        ("calls.args.dtype", "operators.tensors.dtype"),
        {
            "i1": "boolean, one byte in memory",
            **_INTEGERS,
            "fp16": "IEEE half precision",
            "bf16": "bfloat16: 8 bits of exponent, 7 of mantissa",
            "fp32": "IEEE single precision",
            "fp64": "IEEE double precision",
            "fp8e4nv": "float8 e4m3fn",
            "fp8e4b8": "float8 e4m3fnuz",
            "fp8e4b15": "float8 e4m3b11fnuz",
            "fp8e5": "float8 e5m2",
            "fp8e5b16": "float8 e5m2fnuz",
        },
    ),
    Vocabulary(
        "stage",
        ("kernels.stages.stage", "artifacts.kind"),
        {
            "ttir": "Triton's IR, as its compiler prints it",
            "ttir_generic": "that IR in MLIR's generic form, which needs no parser of dialects",
            "glir": "the IR of a kernel written in Gluon",
            "ttgir": "Triton's IR with layouts, for a GPU",
            "llir": "LLVM IR, as text",
            "ptx": "NVIDIA's PTX",
            "cubin": "NVIDIA's binary",
            "amdgcn": "assembly of AMD's GPUs",
            "hsaco": "AMD's binary",
            "tileir": "CUDA Tile IR, as text",
            "stablehlo": "StableHLO, as text",
            "ir_initialization": "making the first IR of the source: a duration, no artifact",
            "store_results": "writing to the compiler's cache: a duration, no artifact",
            "source": "artifacts: source text of a kernel",
            "file": "artifacts: a source file",
            "program": "artifacts: source text of functions that lead to a launch",
            "tensor": "artifacts: elements of a tensor, as they lie in memory",
            "trees": "artifacts: what outputs are made of, as trees",
        },
    ),
    Vocabulary(
        "dialect",
        ("artifacts.dialect",),
        {
            "triton": "MLIR with the dialect tt",
            "gluon": "MLIR with the dialect gluon",
            "triton-gpu": "MLIR with the dialects tt and ttg",
            "llvm": "LLVM IR",
            "ptx": "PTX",
            "amdgcn": "assembly of AMD's GPUs",
            "cuda-tile": "MLIR with the dialect cuda_tile",
            "stablehlo": "MLIR with the dialect stablehlo",
        },
    ),
    Vocabulary(
        "impossible",
        ("gpu_kernels.impossible",),
        {
            "unended": "it has no end",
            "reversed": "it ends before it begins",
            "empty": "a kernel of 0 ns, by a clock of nanoseconds",
            "overlap": "it lasts into later executions of its stream",
            "outside": "it lies outside of the run",
        },
    ),
    Vocabulary(
        "phase",
        ("launches.phase",),
        {
            "run": "the program's own launch; null means the same",
            "autotune": "an autotuner's trial",
            "warmup": "an autotuner's warm-up before its trials",
            "graph_capture": "recorded into a graph, and not executed then",
        },
    ),
)
