"""Who gets something from the page, and who gets nothing."""

import json

import pytest

from .hosting import HostedPage

PATHS = ["/", "/static/app.js", "/api/runs", "/api/runs/files/x", "/api/runs/files/x/live", "/nothing"]


def test_the_token_opens_the_page_once(weather_page: HostedPage) -> None:
    host = {"host": f"localhost:{weather_page.port}"}
    first = weather_page.ask(f"/open?token={weather_page.access.token}", headers=host)
    assert first.status == 200
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert weather_page.ask("/", headers={**host, "cookie": cookie.partition(";")[0]}).status == 200
    again = weather_page.ask(f"/open?token={weather_page.access.token}", headers=host)
    assert again.status == 403
    assert again.body == b"This address was used before, or is wrong; start `toolspeak page` again.\n"
    assert "set-cookie" not in again.headers


def test_a_wrong_token_opens_nothing_and_does_not_use_up_the_right_one(weather_page: HostedPage) -> None:
    host = {"host": f"localhost:{weather_page.port}"}
    for wrong in ("", "x", weather_page.access.token[:-1], "%ff"):
        assert weather_page.ask(f"/open?token={wrong}", headers=host).status == 403
    assert weather_page.ask(f"/open?token={weather_page.access.token}", headers=host).status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"cookie": None},
        {"cookie": "toolspeak_page_1=x"},
        {"cookie": "=;"},
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1:1"},
        {"host": None},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_foreign_request_gets_nothing(weather_page: HostedPage, change: dict[str, str | None]) -> None:
    headers = {key: value for key, value in (weather_page.own_headers | change).items() if value is not None}
    for path in PATHS:
        answer = weather_page.ask(path, headers=headers)
        assert answer.status in (400, 403), path
        assert b"Paris" not in answer.body
        assert b"import" not in answer.body


def test_what_changes_something_must_have_an_origin(weather_page: HostedPage) -> None:
    headers = {key: value for key, value in weather_page.own_headers.items() if key != "origin"}
    assert weather_page.ask("/api/policy-reports", method="POST", headers=headers, body=b"{}").status == 403
    assert weather_page.ask("/api/policy-reports", method="POST", body=b"{}").status == 204


def test_every_answer_has_the_policy(weather_page: HostedPage) -> None:
    for path in ("/", "/static/app.js", "/api/runs", "/nothing", "/open?token=wrong"):
        answer = weather_page.ask(path)
        policy = answer.headers.get("content-security-policy", "")
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_path_cannot_leave_the_folder_of_the_page(weather_page: HostedPage) -> None:
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/hostname", "nothing.js", ""):
        assert weather_page.ask(f"/static/{path}").status == 404


def test_a_run_is_only_found_by_the_id_of_the_list(weather_page: HostedPage) -> None:
    listed = json.loads(weather_page.ask("/api/runs").body)["sources"][0]["runs"]
    assert weather_page.ask(f"/api/runs/files/{listed[0]['id']}").status == 200
    for wrong in ("weather.jsonl", "..%2fweather.jsonl", "x"):
        assert weather_page.ask(f"/api/runs/files/{wrong}").status == 404
    assert weather_page.ask(f"/api/runs/nowhere/{listed[0]['id']}").status == 404
