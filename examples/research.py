"""A research agent: it looks something up, looks at the result, and goes on, within five turns.

$ python examples/research.py
  search_population({'city': 'Berlin'}) → 3700000
  search_population({'city': 'Madrid'}) → 3300000
  search_population({'city': 'Rome'}) → 2750000
  add({'numbers': [3700000, 3300000, 2750000]}) → 9750000.0
In Berlin, Madrid and Rome live 9.75 million people. (answered)
"""

from toolspeak import Chain, Model

POPULATIONS = {
    "Berlin": 3_700_000,
    "Madrid": 3_300_000,
    "Paris": 2_100_000,
    "Rome": 2_750_000,
}


def search_population(city: str) -> int:
    """Look up how many people live in a city.

    Args:
        city: The name of the city, in English.
    """
    return POPULATIONS[city]


def add(numbers: list[float]) -> float:
    """Add numbers up.

    Args:
        numbers: The numbers.
    """
    return sum(numbers)


def main(model: str | Model | None = None) -> None:
    chain = (
        Chain.agent(
            "Research how many people live in Berlin, Madrid and Rome, and add the numbers up.",
            model,
        )
        .with_tools([search_population, add])
        .with_max_iterations(5)
    )
    outcome = chain.run()
    for call in outcome.calls:
        print(f"  {call.name}({call.arguments}) → {call.error or call.output}")
    print(outcome.text, f"({outcome.stop_reason})")


if __name__ == "__main__":
    main()
