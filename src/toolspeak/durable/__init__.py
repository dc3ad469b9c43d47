"""Runs that last: their facts are committed in a database, and any worker can go on with them.

`journal.py` says what a database must do, `dispatch.py` what hands runs to workers. The facts of an inner run
(`Agent.as_tool`) are facts of the run that asked for it (`NestedFact`), and are stored with it.
"""
