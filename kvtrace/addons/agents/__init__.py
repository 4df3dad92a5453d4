"""Answers for agents that write kernels: checks of one launch, and questions to traces.

`kernel_check.py` is `kvtrace.check_kernel`: one launch in this process. `commands/mcp.py` is
`kvtrace mcp`, whose tools open traces below the server's roots and run nobody's files; each answer
is made by a process of its own (`trace_questions.py`), which ends at a time limit.
"""
