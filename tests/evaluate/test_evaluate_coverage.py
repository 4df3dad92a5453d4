"""The table of coverage in the documentation equals the catalog's, and is complete."""

import re

from tests.kernels.case import DTYPES
from tests.kernels.catalog import CASES
from tests.kernels.coverage import DOCUMENT, cells_of_cases, forgotten
from tests.kernels.coverage_table import LIBRARY_DTYPES, MISSING, TESTED, UNDEFINED

UPDATE = "run: python -m tests.kernels.coverage"


def documented():
    """Return the marks by op and type in the document."""
    cells, columns, prefix = {}, (), ""
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("## "):
            prefix = "libdevice." if line.startswith("## libdevice") else ""
        row = re.split(r"(?<!\\) ?\| ?", line.strip("| "))
        if row[0] == "op":
            columns = tuple(row[1:])
            assert columns in (DTYPES, LIBRARY_DTYPES)
        result = re.fullmatch(r"\| `(.*?)` \|(.*)\|", line)
        if not result or "tl." in result.group(1):
            continue
        op = prefix + result.group(1).replace("\\|", "|")
        marks = [mark.strip() for mark in result.group(2).split("|")]
        cells.update({(op, d): m for d, m in zip(columns, marks, strict=True) if m})
    return cells


def test_the_document_says_what_the_catalog_tests():
    compared = {key: mark for key, mark in documented().items() if mark in (TESTED, UNDEFINED)}
    assert compared == cells_of_cases(), UPDATE


def test_no_op_that_triton_compiles_is_documented_as_missing():
    assert [key for key, mark in documented().items() if mark == MISSING] == []


def test_every_public_function_of_the_language_has_a_case_or_a_reason():
    assert forgotten() == []


def test_every_function_of_libdevice_has_a_case():
    from triton.language.extra.cuda import libdevice

    offered = {
        name
        for name, member in vars(libdevice).items()
        if getattr(member, "__triton_builtin__", False) and not name.startswith("_")
    }
    cased = {case.op.removeprefix("libdevice.") for case in CASES if "libdevice" in case.op}
    # Its table asks for three operands, and its symbol takes two.
    assert offered - cased == {"mul_ru"}
