"""Tools with the sentences that ask for them: those of `times.py`, of `sums.py`, and of `omissions.py` (`unsaid_*`)."""
