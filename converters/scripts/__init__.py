"""Scripts made from a trace: `repro.py` launches a call again, `warmup.py` compiles ahead."""
