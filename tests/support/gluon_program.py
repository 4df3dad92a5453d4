"""Launches kernels in Gluon without a GPU, and prints what was recorded of them: `OUT`."""

import json
import sys

import kvtrace
from corpus.kernels.gluon_kernels import LAUNCHES
from kvtrace.schema.trace import open_trace


def main(out: str) -> None:
    with kvtrace.capture(out):
        made = [launch("cpu") for launch in LAUNCHES.values()]
    trace = open_trace(out)
    kernels = trace.table("kernels", trace.runs, ["name", "origin", "stages"]).to_pylist()
    texts = {}
    for row in kernels:
        row["stages"] = {s["stage"]: s["artifact"] for s in row["stages"] if s["artifact"]}
        content = trace.artifact(row["stages"]["glir"])
        texts[row["name"]] = content.decode() if content else ""
    seen = {
        "launched": [[each.kernel, each.grid] for each in made],
        "results": [bool(each.result.any()) for each in made],
        "kernels": [[row["name"], row["origin"], list(row["stages"])] for row in kernels],
        "glir": texts,
        "launches": trace.table("launches", trace.runs, ["seq"]).num_rows,
        "codes": trace.table("messages", trace.runs, ["code"])["code"].to_pylist(),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
