"""Where the page finds runs: each module reads one kind of place (`source.py` says what a place must do)."""
