"""What was made lately is kept within bounds of size and time."""

from toolspeak.values.recent import RecentValues


class Clock:
    """A clock that is set by hand."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def keep(clock: Clock) -> RecentValues[str, str]:
    return RecentValues(max_size=100, seconds=60, clock=clock)


def test_what_was_not_used_for_the_longest_time_is_dropped_first():
    lately = keep(Clock())
    for name in "abcd":
        lately.add(name, name.upper(), size=25)
    assert lately.find("a") == "A"
    lately.add("e", "E", size=25)
    assert lately.list_keys() == ["e", "a", "d", "c"]
    assert lately.find("b") is None


def test_all_that_is_kept_is_never_larger_than_the_bound():
    lately = keep(Clock())
    for number in range(50):
        lately.add(str(number), "", size=number % 26)
        assert sum(int(name) % 26 for name in lately.list_keys()) <= 100


def test_a_value_that_would_drop_most_others_is_not_kept():
    lately = keep(Clock())
    lately.add("small", "s", size=25)
    lately.add("large", "l", size=26)
    assert lately.list_keys() == ["small"]


def test_a_value_that_is_added_again_counts_once():
    lately = keep(Clock())
    for size in (25, 10, 20):
        lately.add("a", str(size), size=size)
    for name in "bcde":
        lately.add(name, name, size=20)
    assert lately.list_keys() == ["e", "d", "c", "b", "a"]
    assert lately.find("a") == "20"


def test_what_is_not_used_for_long_is_dropped_with_the_next_value():
    clock = Clock()
    lately = keep(clock)
    lately.add("a", "A", size=1)
    lately.add("b", "B", size=1)
    clock.seconds += 50
    assert lately.find("b") == "B"
    clock.seconds += 50
    lately.add("c", "C", size=1)
    assert lately.list_keys() == ["c", "b"]
