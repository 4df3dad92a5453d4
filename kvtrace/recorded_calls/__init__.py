"""The unique calls of a run, made ready for the evaluator from tables alone.

`recorded` reads them; `host_descriptors` has the descriptors that a host made, `compiled_layouts`
and `thread_layouts` the layouts that memory ops were compiled with. May import `kvtrace.schema`,
`kvtrace.ir` and `kvtrace.evaluate`.
"""
