"""Judgments of kernels that nobody has reviewed, without a GPU.

`kernel_check.py` is `kvtrace.check_kernel`: one launch in this process. All other files are
`kvtrace judge` (`commands/`, with `kvtrace mcp`), which begins in `judge_file.py`. The untrusted
file runs in a confined process (`child.py`, `confining.py`, `walls/`), which leaves a trace and a
log of its launches. Further processes then evaluate these launches on values drawn after the file
has ended (`answers.py`), compare the results with the reference's, which are computed only then
(`outputs.py`), and judge the trace by rules (`examining.py`). `judge_file.py` starts all of them: a
process that has imported torch forks those that need torch (`beside.py`, `running.py`), while this
process imports the examiner's modules.

Whatever a process with code of the user leaves is read as data that anyone may have written. Its
confining supervisor copies the regular files after its end, so that no reader opens a path that the
process could have replaced; what it writes to the descriptor `EVENTS` cannot be taken back. The
candidate gets no folder of inputs: `calling.py`, a fork without code of the user, hands them over
one call at a time and takes results as bytes (`messages.py`, `answering.py`). The verdict is made
of `examined.json` and of how processes ended. Memory that was only allocated holds a NaN that
nothing computes (`POISON`).
"""
