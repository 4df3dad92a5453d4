"""Makes a small fixture of a trace that was captured on a GPU.

    python tests/gpu/trim_trace.py TRACE FIXTURE [--stages ttir_generic,source,file] [--whole]
        [--between BEGIN END]

Keeps all kernels, calls, stacks and messages, the artifacts of the kinds that are named, the first
40 launches of each call that were no trials, at most 3 trials of each call, their contents, and the
kernels on the device that belong to those or are of others (at most 200 of NCCL's and 200 of the
rest). Stages of other kinds stay without their content; what else a row says is not changed. With
--whole all launches and executions are kept except trials. With --between only what began between
two times, in ns since 1970, is kept.
"""

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: The column with a row's begin, by table.
BEGINS = {
    "launches": "enter", "gpu_kernels": "start", "host_events": "begin", "marks": "begin",
    "collectives": "requested",
}  # fmt: skip


def begun_between(table: pa.Table, name: str, begin: int, end: int) -> pa.Table:
    """Keep the rows of a table with times that began between two times, in ns since 1970."""
    if name not in BEGINS:
        return table
    begun = table[BEGINS[name]].cast(pa.int64())
    return table.filter(pc.and_(pc.greater_equal(begun, begin), pc.less(begun, end)))


def first_of_each(table: pa.Table, key: str, number: int) -> pa.Table:
    """Keep the first rows of each value of a column."""
    seen: dict[object, int] = {}
    kept = []
    for value in table[key].to_pylist():
        seen[value] = seen.get(value, 0) + 1
        kept.append(seen[value] <= number)
    return table.filter(pa.array(kept, pa.bool_()))


def without_stages(table: pa.Table, kinds: list[str]) -> pa.Table:
    """Leave the stages of other kinds without their content."""
    stages = [
        [s if s["stage"] in kinds else s | {"artifact": None} for s in row or ()]
        for row in table["stages"].to_pylist()
    ]
    place = table.schema.get_field_index("stages")
    field = table.schema.field(place)
    return table.set_column(place, field, pa.array(stages, field.type))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trace", type=Path)
    parser.add_argument("fixture", type=Path)
    parser.add_argument("--stages", default="ttir_generic,source,file")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--between", type=int, nargs=2, metavar=("BEGIN", "END"))
    options = parser.parse_args()
    kinds = options.stages.split(",")
    seqs: dict[str, pa.Array] = {}
    order = ("launches", "contents", "gpu_kernels")
    files = sorted(options.trace.glob("*/run=*/*.parquet"))
    files.sort(key=lambda path: order.index(path.parts[-3]) if path.parts[-3] in order else -1)
    for path in files:
        table, name, run = pq.read_table(path, partitioning=None), path.parts[-3], path.parts[-2]
        if options.between:
            table = begun_between(table, name, *options.between)
        if name == "artifacts":
            table = table.filter(pc.is_in(table["kind"].cast(pa.string()), pa.array(kinds)))
        if name == "kernels":
            table = without_stages(table, kinds)
        if name == "launches":
            trial = pc.equal(table["phase"].cast(pa.string()), "autotune")
            runs = table.filter(pc.invert(trial))
            table = pa.concat_tables(
                [
                    runs if options.whole else first_of_each(runs, "call_id", 40),
                    first_of_each(table.filter(trial), "call_id", 3),
                ]
            ).sort_by("seq")
            seqs[run] = table["seq"].combine_chunks()
        if name == "contents":
            table = table.filter(pc.is_in(table["seq"], seqs[run]))
        if name == "gpu_kernels":
            ours = table.filter(pc.is_in(table["launch_seq"], seqs[run]))
            others = table.filter(pc.is_null(table["call_id"]))
            if options.whole:
                table = pa.concat_tables([ours, others]).sort_by("record")
        if name == "gpu_kernels" and not options.whole:
            collective = pc.match_substring(others["name"].cast(pa.string()), "nccl")
            rest = others.filter(pc.invert(collective)).slice(0, 200)
            table = pa.concat_tables([ours, others.filter(collective).slice(0, 200), rest])
            table = table.sort_by("record")
        target = options.fixture / path.relative_to(options.trace)
        target.parent.mkdir(parents=True, exist_ok=True)
        schema = pq.read_schema(path)
        pq.write_table(table.cast(schema), target, compression="zstd", compression_level=19)
    size = sum(path.stat().st_size for path in options.fixture.rglob("*.parquet"))
    print(f"{options.fixture}: {size:,} bytes")


if __name__ == "__main__":
    main()
