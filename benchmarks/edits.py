"""Answers of `kvtrace diff` about edits of public kernels: are the results the same?

    python benchmarks/edits.py [--of MODULE …] [NAME …]

Method: each edit replaces a pattern in a copy of a public file. Kernels of both versions run on the
same CPU tensors, recorded without a GPU; then changed kernels are compared as `kvtrace diff` does.
*Same results?* must never be yes for an edit that breaks results, nor no for one that keeps them.
Modules are those of `corpus/edits`. Liger's is installed; the others need the folder
EDIT_SOURCES with the packages `fla-core`, `einops` and `torchao` unpacked, `sglang/kernels`,
Triton's `tutorials` and TritonBench's `TritonBench_G_v1`; which takes network to get.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import torch

import kvtrace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus import files
from corpus.questions.edits import Edit, Source, file_of_source, module
from kvtrace.addons.invariance.differences import kernel_meanings
from kvtrace.schema.trace import Selection, open_trace

_SECONDS: Final = 30.0
_MODULES: Final = {each.__name__.rpartition(".")[2]: each for each in files("edits")}


def recorded(source: Source, file: Path, folder: Path, edit: Edit | None) -> Selection:
    """Record a run of a source's kernels, with `edit` or (None) unchanged, and return the run."""
    folder.mkdir()
    torch.manual_seed(0)
    with (
        module(source, file, folder, edit) as edited_module,
        kvtrace.capture(folder / "trace", target="cuda:90", compile="ttir"),
    ):
        source.run(edited_module, False)
    trace = open_trace(folder / "trace")
    return Selection(trace, trace.runs)


def answer(before: Selection, after: Selection) -> tuple[str, str]:
    """Return "yes", "no" or "not known" for equal results of two recordings, and the evidence."""
    kernels = {
        kernel["name"]
        for selection in (before, after)
        for kernel in selection.trace.table("kernels").select(["name"]).to_pylist()
    }
    meanings = kernel_meanings(before, after, {name: name for name in kernels}, _SECONDS)
    for same in ("no", "not known"):
        differing = [meaning for meaning in meanings if meaning.same == same]
        if differing:
            output = differing[0]
            return same, f"{output.kernel}, {output.output}: {output.evidence}"
    return ("yes", "") if meanings else ("not known", "nothing was compared")


def print_answers(sources: dict[str, Source], edits: list[Edit]) -> None:
    """Print a row for each edit, and for each kind how many edits got each answer."""
    tally: Counter[tuple[str, str]] = Counter()
    seconds = cpu = 0.0
    root = Path(tempfile.mkdtemp())
    originals: dict[str, Selection] = {}
    print("| edit | kept | same results? | s | evidence |\n|---|---|---|--:|---|")
    for edit_number, edit in enumerate(edits):
        source = sources[edit.source]
        file = file_of_source(source.path)
        if file is None:
            print(f"| {edit.name} | {edit.kind} | | | {source.path} is not on this machine |")
            continue
        if edit.source not in originals:
            originals[edit.source] = recorded(source, file, root / f"{edit_number} before", None)
        edited_run = recorded(source, file, root / str(edit_number), edit)
        start, cpu_begun = time.perf_counter(), time.process_time()
        word, evidence = answer(originals[edit.source], edited_run)
        edit_seconds = time.perf_counter() - start
        seconds += edit_seconds
        cpu += time.process_time() - cpu_begun
        tally[edit.kind, word] += 1
        print(
            f"| {edit.name} | {edit.kind} | {word} | {edit_seconds:.1f} | {evidence} |", flush=True
        )
    shutil.rmtree(root)
    for kind in ("bits", "mathematics", "broken"):
        words = {word: tally[kind, word] for word in ("yes", "not known", "no")}
        print(f"{kind}: {', '.join(f'{count} {word}' for word, count in words.items())}")
    print(f"compared in {seconds:.0f} s, {cpu:.0f} s of a core")


def main() -> None:
    """Compare the edits whose names contain a word of the command line, or all edits."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of names of edits")
    parser.add_argument("--of", nargs="*", choices=list(_MODULES), default=list(_MODULES))
    arguments = parser.parse_args()
    modules = [_MODULES[name] for name in arguments.of]
    sources = {source.name: source for edit_module in modules for source in edit_module.SOURCES}
    edits = [
        edit
        for edit_module in modules
        for edit in edit_module.CASES
        if not arguments.names or any(name_part in edit.name for name_part in arguments.names)
    ]
    print_answers(sources, edits)


if __name__ == "__main__":
    main()
