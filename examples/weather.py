"""Plain functions, ready for a model: no decorator, no registration."""

from enum import Enum
from typing import Annotated


class Unit(Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


TEMPERATURES = {"Oslo": -3.5, "Paris": 11.0, "Dubai": 33.0}


def get_weather(city: str, unit: Unit = Unit.CELSIUS) -> dict[str, float | str]:
    """Get the current temperature in a city.

    Args:
        city: The name of the city, such as Oslo.
        unit: The unit of the answer.
    """
    celsius = TEMPERATURES[city]
    degrees = celsius if unit is Unit.CELSIUS else celsius * 9 / 5 + 32
    return {"city": city, "temperature": round(degrees, 1), "unit": unit.value}


def list_cities(
    containing: Annotated[str, "Only names with these letters."] = "",
) -> list[str]:
    """List the cities whose temperature is known."""
    return [city for city in TEMPERATURES if containing.lower() in city.lower()]
