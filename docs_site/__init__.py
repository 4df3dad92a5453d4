"""Generator of the site's pages that are not in docs/, and adapter of links; used by mkdocs.

`hook.py` has the hooks that mkdocs calls. `commands.py` makes a page of each command's parser,
`python_api.py` that of the public functions, `variables.py` the tables of docs/settings.md,
`repository.py` adds README.md and its neighbors.
"""
