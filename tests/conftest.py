"""What holds for all tests: Hypothesis profiles, signals and the embedded model.

`make test` draws the same examples every time, so that a change cannot fail for an example that it did not touch.
`make fuzz` draws at random, and as many examples as FUZZ_EXAMPLES says.
"""

import os
import signal

from hypothesis import HealthCheck, settings

# No test leaves the embedded model loaded, except those of warm servers, which end theirs.
os.environ["TOOLSPEAK_LOCAL_KEEP_MINUTES"] = "none"

# A shell starts what it runs in the background with Ctrl-C ignored, and programs that tests start would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline for one example: each test has a time limit of its own, and a busy machine is not a bug.
settings.register_profile(
    "toolspeak",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=150,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "fuzz",
    settings.get_profile("toolspeak"),
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "40000")),
    derandomize=False,
)
settings.load_profile("toolspeak")
