"""Memory that nobody wrote: what launches and operators write and read, in the order of the run."""
