"""The unique calls of a run as arguments of the evaluator, from tables alone.

`recorded` has the calls, which `reading` makes; `host_descriptors` has descriptors created on the
host, `compiled_code` and `thread_layouts` have the layouts that memory ops were compiled with. May
import `kvtrace.schema`, `kvtrace.ir` and `kvtrace.evaluate`.
"""
