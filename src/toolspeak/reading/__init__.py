"""Reading: the text of a model becomes events."""
