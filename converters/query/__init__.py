"""A trace's tables for other tools: SQL over them (`query.py`), and CSV files (`csv.py`)."""
