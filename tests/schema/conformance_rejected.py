"""Cases of the conformance suite that readers have to reject."""

from tests.schema.conformance_rows import (
    PLAIN,
    RUN,
    WITHOUT_CALLS,
    Trace,
    case,
    changed,
    parts,
    run_row,
)


@case("the file of launches does not say which table it has rows of")
def reject_no_table() -> Trace:
    return changed("launches", of_table=""), None


@case("format version 2.0")
def reject_newer_major() -> Trace:
    return changed("launches", version="2.0"), None


@case("the run requires a feature that the reader does not know")
def reject_unknown_feature() -> Trace:
    return parts(RUN, run_row(required_features=["weights", "furlongs"]), PLAIN), None


@case("the file of launches was cut")
def reject_torn() -> Trace:
    return changed("launches", torn=700), None


@case("the required column launches.call_id is missing")
def reject_missing_column() -> Trace:
    return changed("launches", rows=WITHOUT_CALLS), None


@case("launches.call_id is a string, and the format says int64")
def reject_wrong_type() -> Trace:
    texts = {"call_id": ("string", ["zero", "zero", "one"])}
    return changed("launches", rows=WITHOUT_CALLS, columns=texts), None


@case("the file in the folder launches says that it has rows of marks")
def reject_other_table() -> Trace:
    return changed("launches", of_table="marks"), None


@case("the file of launches does not say which version of the format it has")
def reject_no_version() -> Trace:
    return changed("launches", version=None), None


@case("format version 10.0")
def reject_version_ten() -> Trace:
    return changed("launches", version="10.0"), None


@case("1x is no version of the format")
def reject_no_number() -> Trace:
    return changed("launches", version="1x"), None


@case("launches.enter is in microseconds, without a zone")
def reject_microseconds() -> Trace:
    rows = [{n: v for n, v in row.items() if n != "enter"} for row in PLAIN["launches"]]
    return changed("launches", rows=rows, columns={"enter": ("timestamp[us]", [1, 2, 3])}), None


@case("the kind of an argument, a field of a struct, is an integer")
def reject_wrong_field() -> Trace:
    rows = [{**row, "args": [{"kind": 1}]} for row in PLAIN["calls"]]
    return changed("calls", rows=rows, fields={"args": {"kind": "int64"}}), None
