"""Who may send requests: programs, and pages of the service itself or of origins that the option `cors` names.

A browser sends requests for any page that its user visits, also to a service on the same machine. It says so in two
headers. `Host` is the name in the address: if it is not a name of this machine, the name of a page has been made to
lead here (DNS rebinding), so that the page could read answers. `Origin`, or `Sec-Fetch-Site`, is where it is from.
"""

from __future__ import annotations

import re

from starlette.types import Scope

from capfst.options import ServeOptions
from capfst.serve.answers import RefusedError

_LOCAL = re.compile(rb"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d*)?")
_PORT = re.compile(rb":\d*$")
_SAFE = ("GET", "HEAD", "OPTIONS")


class Senders:
    """The senders that a service accepts.

    Args:
        is_local: whether the service listens on an address that only this machine has: then it has only local names.
    """

    def __init__(self, options: ServeOptions, is_local: bool) -> None:
        self._is_any, self._is_local = "*" in options.cors, is_local
        self._origins = {origin.encode() for origin in options.cors}
        names = [options.host, *(origin.rpartition("://")[2] for origin in options.cors)]
        self._names = {_without_port(name.lower().encode()) for name in names}

    def refusal(self, scope: Scope) -> RefusedError | None:
        """Return why a request is refused, or None."""
        found: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            found[name] = value.lower()
            if name == b"host" and not self._has(found[name]):
                named = found[name].decode("latin-1")
                return RefusedError(
                    421, f"{named!r} is not a name of this service. Use localhost, or list its origin in `--cors`."
                )
        origin, site = found.get(b"origin"), found.get(b"sec-fetch-site")
        if scope["method"] in _SAFE or self._is_any or (origin is None and site is None) or origin in self._origins:
            return None
        is_own = site in (b"same-origin", b"none") if site else origin == b"http://" + found.get(b"host", b"")
        if is_own:
            return None
        named = (origin or b"null").decode("latin-1")
        return RefusedError(403, f"the page is from {named!r}, another origin. List that in `--cors` to accept it.")

    def _has(self, host: bytes) -> bool:
        """Return whether the service has this name."""
        if not self._is_local or self._is_any:
            return True
        return _LOCAL.fullmatch(host) is not None or _without_port(host) in self._names


def _without_port(host: bytes) -> bytes:
    return _PORT.sub(b"", host)
