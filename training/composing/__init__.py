"""Composes questions whose right answers are computed, for training only."""
