"""Parameters, each drawn with the words that say its value."""
