"""What a kernel does, as formulas: one symbolic summary per module, and deciding claims over it.

`terms` are integers, `conditions` their predicates, `summary` what `summarise` finds in a module;
`prover` proves or refutes. May import `kvtrace.ir` and the schema's errors, nothing else of
kvtrace.
"""
