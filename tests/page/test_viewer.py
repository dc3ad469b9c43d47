"""The viewer in a real browser."""

import pytest

from .conftest import BrowserTab
from .hosting import HostedPage

pytestmark = pytest.mark.browser


def test_a_recorded_run_is_drawn_with_its_turns_and_calls(tab: BrowserTab, weather_page: HostedPage) -> None:
    page = tab.page
    page.goto(weather_page.opening_url)
    page.wait_for_selector(".row-end")
    assert page.locator("h1").inner_text() == "How is the weather in Paris?"
    assert page.locator(".row-turn").count() == 2
    assert page.locator(".row-call").count() == 3
    page.locator(".row-call").first.click()
    page.wait_for_selector(".part-json")
    assert '"city": "Paris"' in page.locator(".part-json").first.inner_text()
    assert all(url.startswith(weather_page.url) for url in tab.requests)
    assert weather_page.policy_reports == []


def test_an_address_leads_to_a_fact(tab: BrowserTab, weather_page: HostedPage) -> None:
    page = tab.page
    page.goto(weather_page.opening_url)
    page.wait_for_selector(".row-end")
    page.goto(f"{weather_page.url}/#fact=3")
    page.reload()
    page.wait_for_selector(".is-active .part")
    assert "get_weather" in page.locator(".is-active .row").inner_text()
