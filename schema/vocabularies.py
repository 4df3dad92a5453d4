"""Open vocabularies: columns whose words anybody may add to, and the words that have a meaning.

A reader keeps and shows a word that it does not know. A word of one producer has that producer's
name in front, as `acme:tile`, and needs nobody's consent. A word that several tools share becomes a
line of `vocabularies.txt`, by a pull request that says what it means; a word never changes its
meaning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The registered words of columns, each with its meaning; `columns` as `table.column.field`."""

    name: str
    columns: tuple[str, ...]
    words: Mapping[str, str]


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
    "source_generic": "triton",
    "glir": "gluon",
    "ttgir": "triton-gpu",
    "ttgir_generic": "triton-gpu",
    "llir": "llvm",
    "ptx": "ptx",
    "amdgcn": "amdgcn",
    "tileir": "cuda-tile",
    "stablehlo": "stablehlo",
}


def _read_vocabularies(text: str) -> Iterator[Vocabulary]:
    """Yield the vocabularies that a text defines, in its order."""
    for block in text.split("\n\n")[1:]:
        (name, columns), *words = (line.strip().split(" | ") for line in block.splitlines())
        yield Vocabulary(name, tuple(columns.split(", ")), dict(words))


@cache
def vocabularies() -> tuple[Vocabulary, ...]:
    """Return the open vocabularies of the format, from `vocabularies.txt`."""
    text = Path(__file__).with_name("vocabularies.txt").read_text(encoding="utf-8")
    return tuple(_read_vocabularies(text))
