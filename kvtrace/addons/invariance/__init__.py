"""Batch invariance: whether a row's result changes with its batch, proven from the kernel's IR.

Three questions are asked of the *tree* of an output's element: the operations that compute it from
elements of the arguments, in order. A call is bound to its numbers (`Kernel`); a store's address
gives the output's coordinates (`Output`); trees are built over these.

* Is a row a function of itself? `DependenceCollector` and the guards of stores give a `RowVerdict`.
* Is it computed alike at every size? `compare_trees` gives a `SizeComparison`, or a `Witness` has
  two values; with the former verdict they are an `OutputResult`.
* Are two versions of a kernel the same? `compare_trees`, bounds and a `Witness` give an
  `OutputMeaning`, part of `kvtrace diff`.

Concepts and their files:

* trees, which `kvtrace.symbolic.trees` builds on demand: `kernels`, `trees`;
* coordinates of what a lane writes: `coordinates`, `places`;
* formulas where an element is stored: `simplifying`, `formulas`;
* what a row depends on: `rows`, `dependence`, `reads`, `begins`, `guards`, `memory`;
* trees evaluated in a finite field, by the laws that floats obey or do not: `compared`, `field`,
  `repeated`, `numbers`, `choices`, `exponentials`, `loaded_integers`, `whole_numbers`;
* two values of an element, evaluated on other contents: `witness`, `launches`, `input_kinds`;
* sizes of the batch: `batches`, `across_sizes`, `determinism`, `variants`;
* versions of a kernel: `stores`, `versions`, `version_values`, `differences`, `diff`;
* bounds of roundings for all inputs: `rounding_bounds`, `bounded_numbers`;
* results and texts: `results`, `output_results`, `text`, `wording`;
* contracts in the source, and the rule: `contracts`, `over`, `findings`, `judged`.

Integers, conditions and addresses are formulas of `kvtrace.symbolic`, in trees, too; trees add only
floats, for which the symbolic walk has no formulas.
"""
