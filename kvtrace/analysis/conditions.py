"""Conditions on sizes under which kernels are safe, and calls compared with them: `kvtrace sizes`.

Kernels of any run whose conditions are equal are one variant. Each call of a variant is compared
with its conditions; a call that does not satisfy them is judged by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from kvtrace.converters.findings.conditions import AccessLine, KernelConditions, OutsideCall
from kvtrace.converters.findings.envelope import AtSizes, EnvelopeRow, SizeVerdict
from kvtrace.converters.findings.invocation import invocation
from kvtrace.progress import progress
from kvtrace.schema.errors import BadSetting
from kvtrace.verdicts.sizes.program_ties import ProgramText

if TYPE_CHECKING:
    from pathlib import Path

    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Selection, Trace
    from kvtrace.verdicts.sizes.at_size import ComparedAccess
    from kvtrace.verdicts.sizes.index_tensors import Contract
    from kvtrace.verdicts.sizes.launch_numbers import Numbers
    from kvtrace.verdicts.sizes.relations import Relations
    from kvtrace.verdicts.verdict import Verdict

    _Key = tuple[int, tuple[object, ...], tuple[object, ...]]

_GRAVEST = ("violation", "unknown", "proven")
SECONDS = 6.0
"""Nominal seconds of work on the table of sizes of each kernel, however many there are."""
_MAX_BASES = 32


class _Variant(Struct):
    """A kernel with one set of conditions, and the results of its calls so far.

    `inside` counts calls that satisfy the conditions, `short` calls whose accesses do not reach all
    elements, `others` has the other calls, `bad` their numbers and message if they are violations,
    `bases` the largest different launches, `numbers` those of all, `launches` them by call,
    `broken` the messages of violated contracts, and `assumed` the contracts in the kernel's source.
    `ties` are the user's formulas of numbers, `stated` what the program's text states of them at
    each call, `outputs` the arguments that each launch alone writes by that text, `constants` those
    that are compiled in.
    """

    conditions: KernelConditions
    calls: int = 0
    inside: int = 0
    short: int = 0
    others: list[OutsideCall] = []
    bases: dict[_Key, Call] = {}
    numbers: dict[_Key, Numbers] = {}
    bad: list[tuple[Numbers, str]] = []
    broken: dict[str, None] = {}
    assumed: dict[str, Contract] = {}
    ties: tuple[str, ...] = ()
    stated: list[dict[str, str]] = []
    outputs: list[frozenset[str]] = []
    constants: dict[tuple[str, int], None] = {}

    def completed(
        self,
        sizes: Mapping[str, int],
        contracts: Sequence[Contract],
        seconds: float,
    ) -> KernelConditions:
        """Return the conditions with the results of all calls.

        `sizes` are sizes to judge the kernel at, `contracts` those of the user. The table of sizes
        (`envelope`) is computed in at most `seconds`.
        """
        relations, bases = self.relations(), [*self.chosen_bases().values()]
        all_contracts = [*contracts, *self.assumed.values()]
        return replace(
            self.conditions, calls=self.calls, inside=self.inside, short=self.short,
            others=tuple(self.others),
            envelope=self._envelope(relations, all_contracts, seconds),
            at=_at_sizes(relations, sizes, bases),
            broken=tuple(self.broken),
        )  # fmt: skip

    def _envelope(
        self, relations: Relations, contracts: Sequence[Contract], seconds: float
    ) -> tuple[EnvelopeRow, ...]:
        from kvtrace.verdicts.sizes.envelope import envelope

        rows = envelope(relations, contracts, seconds, self.bad, [*self.chosen_bases().values()])
        return tuple(
            replace(
                row, along=(*row.along, *self._constants_by(row.recorded)),
                equal=relations.equal_sizes(row.quantity),
            )
            for row in rows
        )  # fmt: skip

    def _constants_by(self, size: int) -> Iterator[str]:
        """Yield the constants that a program may choose by a size: equal, or the next power of 2.

        A launch of another size may be compiled with another constant.
        """
        chosen = (size, 1 << max(size - 1, 0).bit_length())
        for name, value in self.constants:
            if value > 1 and value in chosen:
                yield f"{name} stays {value:,}"

    def relations(self) -> Relations:
        """Return the relations between the numbers of the kernel's calls, whatever their order."""
        from kvtrace.verdicts.sizes.relations import Relations

        base, *bases = self.chosen_bases()
        others = sorted(self.numbers.keys() - {base, *bases})
        more = [self.numbers[key] for key in (*bases, *others)]  # not all are looked at
        first, *others_stated = self.stated or [{}]
        stated = {
            name: text
            for name, text in first.items()
            if all(other.get(name) == text for other in others_stated)
        }
        outputs = frozenset.intersection(*self.outputs) if self.outputs else frozenset()
        return Relations(self.bases[base], more, self.ties, self.calls, stated, outputs)

    def add(self, call: Call) -> None:
        """Count a call, and keep it as a base if its numbers are new and large."""
        from kvtrace.verdicts.sizes.index_tensors import recorded_ranges
        from kvtrace.verdicts.sizes.launch_numbers import numbers_of

        self.calls += 1
        numbers = numbers_of(call)
        size = prod(
            max(abs(value), 1) for (kind, _, _), value in numbers.items() if kind != "stride"
        )
        key = size, tuple(sorted(numbers.items())), tuple(recorded_ranges(call).values())
        if key not in self.numbers:
            self.numbers[key] = numbers
            self.bases[key] = _without_floats(call)
        if len(self.bases) > 4 * _MAX_BASES:
            self.bases = self.chosen_bases()

    def add_text(self, call: Call, row: Mapping[str, Any], program: ProgramText) -> None:
        """Add what the program's text says of a call, of which `row` is the row in the trace."""
        from kvtrace.verdicts.sizes.launch_numbers import name_of, numbers_of

        arguments, stack = row["args"] or [], row["stack_id"]
        names = [name_of(number, call) for number in numbers_of(call)]
        self.stated.append(program.ties(stack, arguments, names))
        self.outputs.append(program.sole_outputs(stack, arguments))

    def add_contracts(
        self, call: Call, contracts: Sequence[Contract], commented: Sequence[Contract]
    ) -> None:
        """Add the contracts in a kernel's comments, and violations of those and of the user's."""
        from kvtrace.verdicts.sizes.index_tensors import violation

        self.assumed |= {contract.text: contract for contract in commented}
        violations = (violation(contract, call) for contract in (*contracts, *commented))
        self.broken |= dict.fromkeys(filter(None, violations))

    def chosen_bases(self) -> dict[_Key, Call]:
        """Return the largest calls, and for each number the largest call with its largest value."""
        keys = sorted(self.bases, reverse=True)
        largest = [
            max(keys, key=lambda key: self.numbers[key].get(n, 0)) for n in self.numbers[keys[0]]
        ]
        return {key: self.bases[key] for key in dict.fromkeys((*keys[:_MAX_BASES], *largest))}


def parse_sizes(text: str | None) -> dict[str, int]:
    """Return the sizes by name in a text such as "batch=64, seq=131072"; {} for None.

    Raises:
        BadSetting: The text is not a list of names and whole numbers.

    """
    sizes: dict[str, int] = {}
    for part in (text or "").split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not part.strip():
            continue
        digits = value.replace("_", "").removeprefix("-")
        if not name or not equals or not digits.isdecimal():
            raise BadSetting(f'--at needs sizes such as "batch=64, seq=131072", not {part!r}.')
        sizes[name] = int(value)
    return sizes


def read_contracts(file: Path | None) -> list[Contract]:
    """Return the contracts in a file, one per line without comments (#); [] without a file.

    Raises:
        BadSetting: The file cannot be read.
        BadContract: A line is not a contract.

    """
    from kvtrace.verdicts.sizes.index_tensors import contract_of

    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the contracts in {file} cannot be read: {error}") from error
    return [contract_of(line) for line in lines if line.strip() and line.strip()[0] != "#"]


def kernel_conditions(
    selection: Selection,
    sizes: Mapping[str, int] | None = None,
    contracts: Sequence[Contract] = (),
    *,
    ties: Sequence[str] = (),
    seconds: float = SECONDS,
    chosen: Collection[str] | None = None,
) -> tuple[list[KernelConditions], list[str]]:
    """Return the conditions of each called kernel, and a message for each call left out.

    Kernels that have scalars or extents with the names in `sizes` are also judged at these sizes.
    `contracts` are assumptions on index tensors; each call is checked against them and against
    contracts in comments of its kernel. `ties` are formulas of numbers, as
    "part.shape[0] = n // 32", for the kernels that have them. The smallest unsafe value of each
    size is searched for at most `seconds` of work for each kernel. Only the kernels with the names
    in `chosen` are judged; None: all.

    Raises:
        BadSetting: No kernel has a number of a name in `sizes`.
        BadTie: A tie is malformed, or fits the recorded launches of no kernel.

    """
    variants: dict[KernelConditions, _Variant] = {}
    failures: list[str] = []
    for run in selection.runs:
        failures += _add_calls(variants, selection.trace, run, contracts, tuple(ties), chosen)
    relations = [variant.relations() for variant in variants.values()] if sizes or ties else []
    unknown = [name for name in sizes or () if not any(own.number(name) for own in relations)]
    if unknown and variants:
        raise BadSetting(
            f"no kernel has a scalar named {', '.join(unknown)}, as given by --at; name an extent "
            "of a tensor as x.shape[0], and an axis of the grid as grid_x."
        )
    _check_ties(ties, relations)
    kernels = []
    with progress("sizes: safe ranges") as report:
        for number, variant in enumerate(variants.values()):
            kernels.append(variant.completed(sizes or {}, contracts, seconds))
            report(number + 1, len(variants))
    return kernels, failures


def _add_calls(
    variants: dict[KernelConditions, _Variant], trace: Trace, run: Run,
    contracts: Sequence[Contract], ties: tuple[str, ...], chosen: Collection[str] | None,
) -> Iterator[str]:  # fmt: skip
    """Add a run's calls to their variants; yield a message for each call left out."""
    from kvtrace.recorded_calls.reading import calls_of
    from kvtrace.recorded_calls.recorded import UnreadyCall

    table = trace.table("calls", (run,), columns=["call_id", "kernel_id", "args", "stack_id"])
    rows = {row["call_id"]: row for row in table.to_pylist()}
    commented, contract_errors = _commented_contracts(trace, run)
    yield from contract_errors
    program = ProgramText(trace, run)
    variants_by_module: dict[int, _Variant] = {}
    with progress(f"sizes {run.run_id}") as report:
        for number, call in enumerate(calls_of(trace, run), start=1):
            if chosen is not None and call.kernel not in chosen:
                continue
            if isinstance(call, UnreadyCall):
                yield f"call {call.call_id} of {call.kernel}: {call.reason}"
            else:
                module = id(call.module.op)
                if module not in variants_by_module:
                    conditions = _conditions_of(call)
                    variants.setdefault(conditions, _Variant(conditions, ties=ties))
                    variants_by_module[module] = variants[conditions]
                variant, row = variants_by_module[module], rows[call.call_id]
                _add_call(variant, call, run, row["args"] or [])
                variant.add_text(call, row, program)
                variant.add_contracts(call, contracts, commented.get(row["kernel_id"], ()))
            report(number, table.num_rows)


def _check_ties(ties: Sequence[str], relations: Sequence[Relations]) -> None:
    """Raise BadTie for a tie that fits no kernel."""
    from kvtrace.verdicts.sizes.ties import BadTie

    for text in ties:
        reasons = [variant.unfit.get(text) for variant in relations]
        contradicted = [reason for reason in reasons if reason and "does not hold" in reason]
        if reasons and None not in reasons:
            raise BadTie((contradicted or reasons)[0] or text)


def _commented_contracts(trace: Trace, run: Run) -> tuple[dict[int, list[Contract]], list[str]]:
    """Return the contracts in comments by kernel id, and a message for each invalid contract."""
    from kvtrace.verdicts.sizes.index_tensors import BadContract, contract_of, contracts_in

    contracts: dict[int, list[Contract]] = {}
    errors: dict[str, None] = {}
    columns = ["kernel_id", "name", "source_artifact"]
    for row in trace.table("kernels", (run,), columns=columns).to_pylist():
        digest = row["source_artifact"]
        source = trace.artifact(digest) if digest else None
        for text in contracts_in((source or b"").decode("utf-8", "replace")):
            try:
                contracts.setdefault(row["kernel_id"], []).append(contract_of(text))
            except BadContract as error:
                errors[f"a comment in {row['name']}: {error}"] = None
    return contracts, list(errors)


def _without_floats(call: Call) -> Call:
    """Return a call without the contents of floats, which no size depends on."""
    from kvtrace.evaluate.arguments import Storage, TensorArgument, with_storages

    tensors = [argument for argument in call.arguments if isinstance(argument, TensorArgument)]
    kept = {tensor.storage for tensor in tensors if not tensor.dtype.startswith(("f", "bf"))}
    arguments = with_storages(
        call.arguments, lambda storage: storage if storage in kept else Storage(storage.nbytes)
    )
    return structs.replace(call, arguments=arguments)


def _at_sizes(
    relations: Relations, sizes: Mapping[str, int], bases: Sequence[Call]
) -> AtSizes | None:
    """Return a kernel's worst verdicts at the sizes that it has; None if it has none of the names.

    Sizes that are not given are those of each of the bases in turn.
    """
    from kvtrace.verdicts.sizes.at_size import at_worst
    from kvtrace.verdicts.sizes.envelope_rows import source_line

    own = {name: size for name, size in sizes.items() if relations.number(name) is not None}
    if not own:
        return None
    asked = ", ".join(f"{name} = {size}" for name, size in own.items())
    judged = at_worst(relations, own, bases)
    verdicts = [v for v in judged.verdicts if v.verdict != "proven"]
    return AtSizes(
        asked,
        judged.along,
        judged.limit,
        len(judged.verdicts) - len(verdicts),
        tuple(SizeVerdict(v.rule, v.verdict, v.message, *source_line(v.op)) for v in verdicts),
        judged.reason,
        judged.base,
    )


def _conditions_of(call: Call) -> KernelConditions:
    from kvtrace.symbolic.walk import summarize
    from kvtrace.verdicts.sizes.condition import conditions_of
    from kvtrace.verdicts.sizes.envelope_rows import source_line
    from kvtrace.verdicts.sizes.wording import assumption_text, inside_text, width_text

    summary = summarize(call.module)
    names = [value.name.lstrip("%") for value in call.module.main.arguments]
    accesses: list[AccessLine] = []
    widths: dict[str, None] = {}
    assumptions: dict[str, None] = {}
    reach: dict[str, None] = {}
    for condition in conditions_of(call.module):
        argument = condition.access.argument
        accesses.append(
            AccessLine(
                condition.access.kind,
                None if argument is None else names[argument],
                *source_line(condition.op),
                None if condition.condition is None else inside_text(condition, summary),
                condition.exact,
                condition.reason,
            )
        )
        widths |= dict.fromkeys(width_text(width, summary) for width in condition.widths)
        reach |= dict.fromkeys(width_text(width, summary) for width in condition.reach)
        assumptions |= dict.fromkeys(
            assumption_text(symbol, least, summary) for symbol, least in condition.assumptions
        )
    return KernelConditions(
        call.kernel,
        *source_line(call.module.main.op),
        tuple(accesses),
        tuple(widths),
        tuple(assumptions),
        tuple(reach),
    )


def _add_call(
    variant: _Variant, call: Call, run: Run, arguments: Sequence[dict[str, object]]
) -> None:
    """Compare a call with its variant's conditions, and add the result to the variant."""
    from kvtrace.verdicts.sizes.at_size import compared_accesses, judge_others
    from kvtrace.verdicts.sizes.launch_numbers import numbers_of

    comparisons = compared_accesses(call)
    variant.add(call)
    constants = (one for one in arguments if one["kind"] == "constexpr")
    texts = ((str(one["name"]), str(one["scalar"])) for one in constants)
    variant.constants |= {(name, int(text)): None for name, text in texts if text.isdecimal()}
    variant.short += not all(comparison.reaches for comparison in comparisons)
    if all(comparison.standing == "inside" for comparison in comparisons):
        variant.inside += 1
        return
    call_text = invocation(call.kernel, call.grid, arguments)
    outside = _outside(call, run.run_id, call_text, comparisons, judge_others(call, comparisons))
    variant.others.append(outside)
    if outside.verdict == "violation":
        variant.bad.append((numbers_of(call), outside.message))


def _outside(
    call: Call,
    run: str,
    call_text: str,
    comparisons: Sequence[ComparedAccess],
    verdicts: Sequence[Verdict],
) -> OutsideCall:
    from kvtrace.verdicts.sizes.envelope_rows import source_line

    worst = min(verdicts, key=lambda verdict: _GRAVEST.index(verdict.verdict))
    return OutsideCall(
        run,
        call.call_id,
        call_text,
        any(comparison.standing == "outside" for comparison in comparisons),
        worst.verdict,
        worst.message,
        *source_line(worst.op),
        next((comparison.reason for comparison in comparisons if comparison.reason), None),
    )
