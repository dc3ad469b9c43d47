"""Who may use the page: the browser that was opened with the token of this server, and nobody else.

A page on the loopback can be reached by every program and every web page on this machine. Four things keep them out:

- The address that the command opens holds a token that counts once. It is exchanged for a cookie that only this server
  is sent, that scripts cannot read, and that no other site can make a browser send.
- `Host` must name this very server, so a name of somebody else that leads to the loopback is of no use.
- `Origin` and `Sec-Fetch-Site`, which browsers set, must not be those of another page. Whatever changes something must
  have an origin.
- The policy of each answer lets the browser load nothing from elsewhere, run no script but the files of this package,
  and turn no text into markup.
"""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.requests import Request

SINGLE_HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site", b"content-length", b"transfer-encoding"})
"""Headers that may be given only once: two of them could be read differently by two programs."""

OWN_SITES = frozenset({"same-origin", "none"})

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        "report-uri /api/policy-reports",
    )
)

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Headers of every answer."""

FILE_POLICY = "default-src 'none'; sandbox"
"""The policy of a file that a tool returned: it may be looked at, and do nothing."""


class AccessDenied(Exception):
    """A request is not answered. The message is for the person at the browser."""


class PageAccess:
    """The token and the cookie of one server.

    Attributes:
        token: What the address that is opened holds. It counts once.
        cookie: The value of the header that sets the cookie.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._is_token_used = False
        self._cookie_name = f"toolspeak_page_{port}"  # with the port: browsers send cookies to all ports of a host
        self.cookie = f"{self._cookie_name}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    def open(self, token: str) -> bool:
        """Whether a token opens the page. The right one does so once."""
        is_right = hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        is_opened = is_right and not self._is_token_used
        self._is_token_used = self._is_token_used or is_right
        return is_opened

    def check(self, request: Request) -> None:
        """Raise `AccessDenied` unless a request comes from the page itself, with the cookie, or opens it."""
        headers = request.headers
        given = [name for name, _ in headers.raw if name in SINGLE_HEADERS]
        if len(set(given)) < len(given):
            raise AccessDenied("a header that may be given only once is given twice")
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            raise AccessDenied("the page is not served under this name")
        is_opening = request.url.path == "/open"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            raise AccessDenied("another page may not use this one")
        if request.method not in ("GET", "HEAD") and origin is None:
            raise AccessDenied("a request that changes something must come from the page")
        is_foreign = headers.get("sec-fetch-site", "none") not in OWN_SITES
        if is_foreign and not (is_opening and headers.get("sec-fetch-mode") == "navigate"):
            raise AccessDenied("another page may not use this one")
        if not is_opening and not self.has_cookie(request):
            raise AccessDenied("open the page with the address that `toolspeak page` printed; it works once")

    def has_cookie(self, request: Request) -> bool:
        """Whether a request holds the cookie of this server."""
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(request.headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self._cookie_name)
        return found is not None and hmac.compare_digest(found.value.encode(), self._session.encode())
