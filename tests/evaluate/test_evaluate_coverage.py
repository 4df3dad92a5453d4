"""The document of what the evaluator covers equals its sources, and names all of the language."""

from tests.kernels.answers.agreement import listed
from tests.kernels.catalog import CASES
from tests.kernels.coverage import DOCUMENT, document, forgotten

UPDATE = "run: python -m tests.kernels.coverage"


def test_the_document_says_what_its_sources_say():
    text = document()

    assert DOCUMENT.read_text() == text, UPDATE
    assert len(text.split()) < 2_700
    assert all(f"|{difference.reason}|" in text for difference in listed().values())


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
