"""What all tests share: how hard hypothesis tries."""

from hypothesis import HealthCheck, settings

# No deadline for one example: the time limit of the test stands, and a busy machine is not a bug.
settings.register_profile("toolspeak", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)
settings.register_profile("thorough", settings.get_profile("toolspeak"), max_examples=2000)
settings.register_profile("fuzz", settings.get_profile("toolspeak"), max_examples=40_000)
settings.load_profile("toolspeak")
