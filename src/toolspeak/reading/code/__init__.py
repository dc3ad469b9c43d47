"""The grammar of code: Python and TypeScript as models write calls in it."""
