"""Contract suites: what a model, a dialect or a store of your own must do, as tests that yours can run.

Derive a class whose name begins with `Test`, and pytest runs the suite:

    class TestMyDialect(DialectContract):
        messages = {"CALL add 1 2": [("add", {"first": 1, "second": 2})]}

        def make_dialect(self) -> Dialect:
            return MyDialect()

Without pytest, `MySuite().run()` does the same. A broken rule is an `AssertionError` that says which one.
"""


def require(is_kept: bool, rule: str) -> None:
    """Raise an error with the rule, unless it is kept."""
    if not is_kept:
        raise AssertionError(rule)


class Contract:
    """A suite of tests: the methods whose names begin with `test_`."""

    def run(self) -> list[str]:
        """Run all tests of the suite, and return their names.

        Raises:
            AssertionError: A rule of the contract is broken.
        """
        names = [name for name in dir(type(self)) if name.startswith("test_")]
        for name in names:
            getattr(type(self)(), name)()
        return names
