"""Tables of a trace for other tools: SQL queries (`query.py`) and CSV files (`csv.py`)."""
