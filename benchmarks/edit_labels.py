"""Labels of edits, checked in Triton's interpreter against torch.

    TRITON_INTERPRET=1 python benchmarks/edit_labels.py [NAME …]

An edit that keeps every bit gives the bits of the file as it is, one that keeps the mathematics is
as near to torch as that, and one that breaks it is farther away, on common or on hard inputs.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from triton.runtime.errors import InterpreterError

from corpus import files
from corpus.questions.edits import Edit, Results, Source, file_of_source, module

#: Distances from torch, as shares of the largest number: as near as rounding, and clearly farther.
_NEAR = {torch.float32: 2e-5, torch.float16: 2e-3}


def _results(source: Source, file: Path, edit: Edit | None, *, hard: bool) -> Results:
    torch.manual_seed(0)
    folder = Path(tempfile.mkdtemp())
    with module(source, file, folder, edit) as edited_module:
        return source.run(edited_module, hard)


def _distance_differs(got: tuple[torch.Tensor, ...], wanted: tuple[torch.Tensor, ...]) -> bool:
    for result, reference in zip(got, wanted, strict=True):
        nan = torch.isnan(result.float()) != torch.isnan(reference.float())
        largest = reference.float().nan_to_num().abs().amax() + 1e-30
        distance = ((result.float() - reference.float()).nan_to_num().abs() / largest).amax()
        if bool(nan.any()) or distance > _NEAR.get(result.dtype, 0):
            return True
    return False


def _same_bits(one: tuple[torch.Tensor, ...], other: tuple[torch.Tensor, ...]) -> bool:
    return all(
        torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))
        for a, b in zip(one, other, strict=True)
    )


def contradictions(source: Source, edits: list[Edit], file: Path) -> Iterator[str]:
    """Yield a line for each label that an evaluation contradicts, or does not confirm."""
    unedited = {hard: _results(source, file, None, hard=hard) for hard in (False, True)}
    for hard, (results, references) in unedited.items():
        if references is not None and _distance_differs(results, references):
            yield f"{source.name}: is not torch's{' on hard inputs' if hard else ''}"
    for edit in edits:
        differs = []
        for hard, (unedited_results, references) in unedited.items():
            results, _ = _results(source, file, edit, hard=hard)
            if edit.kind == "bits" and not _same_bits(results, unedited_results):
                yield f"{edit.name}: other bits"
            if edit.kind == "mathematics" and _distance_differs(
                results, unedited_results if references is None else references
            ):
                yield f"{edit.name}: far from torch{' on hard inputs' if hard else ''}"
            differs.append(
                _distance_differs(results, unedited_results if references is None else references)
            )
        if edit.kind == "broken" and not any(differs):
            yield f"{edit.name}: not seen"
        elif edit.kind == "broken" and not differs[0]:
            yield f"({edit.name}: on hard inputs only)"


def main() -> None:
    """Check the labels of all sources that are on this machine."""
    words = sys.argv[1:]
    checked = 0
    for edit_module in files("edits"):
        if edit_module.__name__.endswith(".liger"):
            continue  # labeled by reading
        for source in edit_module.SOURCES:
            if words and not any(word in source.name for word in words):
                continue
            file = file_of_source(source.path)
            if file is None:
                print(f"{source.name}: no {source.path}")
                continue
            edits = [edit for edit in edit_module.CASES if edit.source == source.name]
            checked += len(edits)
            try:
                for contradiction in contradictions(source, edits, file):
                    print(contradiction, flush=True)
            except InterpreterError as error:  # no libdevice, for example
                print(f"{source.name}: by reading only, {error}")
                checked -= len(edits)
    print(f"{checked} labels checked")


if __name__ == "__main__":
    main()
