"""Lists of records from which `selections.py` has one chosen."""
