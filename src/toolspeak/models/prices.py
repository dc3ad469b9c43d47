"""What tokens cost, in US dollars.

Prices are those of the library `genai-prices` (the extra `prices`), which has them in a file of its own and is imported
at the first use. The address of an endpoint says whose price list holds: behind any other address, such as a proxy, the
price is unknown. The known servers cost nothing as long as they run on this machine.
"""

from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolspeak.models.endpoint import Endpoint
from toolspeak.models.profiles import SERVERS

if TYPE_CHECKING:
    from toolspeak.values.events import Usage


def find_cost(endpoint: Endpoint, model: str, usage: "Usage") -> float | None:
    """Return what these tokens cost with a model at an endpoint; None if the price is unknown."""
    if _is_on_this_machine(endpoint.base_url):
        server = SERVERS.get(endpoint.vendor or "")
        return 0.0 if server is not None and _is_on_this_machine(server.base_url) else None
    prices = _import_prices()
    if prices is None:
        return None
    cached = min(usage.cached_tokens, usage.input_tokens)
    counted = prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=cached,
        cache_write_tokens=min(usage.cache_write_tokens, usage.input_tokens - cached),
        output_tokens=usage.output_tokens,
    )
    try:
        return float(prices.calc_price(counted, model, provider_api_url=endpoint.base_url).total_price)
    except (LookupError, ValueError):  # there is no such provider or model, or no price for one of the counts
        return None


def is_price_list_installed() -> bool:
    """Whether the library with the prices is installed."""
    return _import_prices() is not None


def _import_prices() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


@cache
def _is_on_this_machine(base_url: str) -> bool:
    try:
        return urlsplit(base_url).hostname in ("127.0.0.1", "::1", "localhost")
    except ValueError:  # it is no address, and requests to it fail
        return False
