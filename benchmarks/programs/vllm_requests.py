"""Requests to vLLM's engine with a random model of two layers, one request of 8 prompts a step.

    python benchmarks/programs/vllm_requests.py [--eager] [--steps N] [--json FILE]

The engine, which runs in this process, and its model are those of benchmarks/vllm_engine.py. It
needs a GPU and vLLM.
"""

import sys
import tempfile
from pathlib import Path

import stepping
import vllm  # noqa: F401 - fails at once where it is missing

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
from vllm_engine import asked, engine


def main() -> None:
    parser = stepping.parser(__doc__.splitlines()[0])
    parser.add_argument("--eager", action="store_true", help="no torch.compile, no CUDA graphs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        llm = engine(Path(folder), options.eager)
        stepping.run(lambda: asked(llm, 8, 40), options)


if __name__ == "__main__":
    main()
