"""What `mkdocs build` needs besides the Markdown in docs/: pages made from code, and links.

`hook.py` is what mkdocs calls. `commands.py` makes a page of each command from its parser,
`python_api.py` that of the public functions, `variables.py` the tables of docs/settings.md,
`repository.py` takes in README.md and its neighbors.
"""
