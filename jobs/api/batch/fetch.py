"""Fetch a picture from an allowed host of the web, and from nowhere else.

The host must be in the settings' list, and every address that it has must be public: a name that
leads to this machine, its network or a cloud's metadata is refused. The connection then goes to the
address that was looked at, under the host's own name, so that no second look-up can answer
otherwise. Redirects are refused.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import httpx

from jobs.api.body_checks import BodyError
from jobs.api.image_parts import Remote

PORT = 443
CONNECT_S = 10.0
# What IPv6 gives to hosts of the open network; everything else has a purpose of its own.
UNICAST = ipaddress.ip_network("2000::/3")
# Within it: a tunnel, where a private address could hide, and addresses of documents.
EXCEPT = tuple(map(ipaddress.ip_network, ("2002::/16", "3fff::/20")))
RELAYS = ipaddress.ip_network("192.88.99.0/24")  # the other end of that tunnel
Resolve = Callable[[str], Sequence[str]]


def resolved(host: str) -> list[str]:
    """Every address that the name has now."""
    found = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the open network: what is special in any way is not."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip not in UNICAST or any(ip in network for network in EXCEPT):
            return False
    return ip.is_global and not ip.is_multicast and ip not in RELAYS


@dataclass(frozen=True, slots=True)
class Fetcher:
    """`hosts` in small letters; `most` bytes and `seconds` bound one picture."""

    hosts: tuple[str, ...]
    most: int
    seconds: float
    resolve: Resolve = resolved
    transport: httpx.BaseTransport | None = None

    def fetch(self, picture: Remote) -> bytes:
        """The picture's bytes; `BodyError` when they can't be had, or must not."""
        parts = self._checked(picture)
        address = self._address(parts.hostname or "", picture)
        try:
            return self._get(parts, address, picture)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _refused(picture, f"can't be fetched: {type(error).__name__}") from error

    def _checked(self, picture: Remote) -> SplitResult:
        try:
            parts = urlsplit(picture.url)
            usual = parts.port in (None, PORT)
        except ValueError as error:
            raise _refused(picture, f"is no address: {error}") from error
        if parts.scheme != "https" or parts.username is not None or not usual:
            raise _refused(picture, "must be https, without a port or a user")
        if (parts.hostname or "") not in self.hosts:
            known = ", ".join(self.hosts) or "none"
            raise _refused(picture, f"has a host that is not allowed; allowed: {known}")
        return parts

    def _address(self, host: str, picture: Remote) -> str:
        try:
            found = self.resolve(host)
        except (OSError, UnicodeError) as error:
            raise _refused(picture, "has a host that is not known") from error
        if not found or not all(is_public(each) for each in found):
            raise _refused(picture, "leads to an address that is not public")
        return found[0]

    def _get(self, parts: SplitResult, address: str, picture: Remote) -> bytes:
        host = parts.hostname or ""
        there = f"[{address}]" if ":" in address else address
        url = parts._replace(netloc=there, fragment="").geturl()
        ends = time.monotonic() + self.seconds
        timeout = httpx.Timeout(self.seconds, connect=min(CONNECT_S, self.seconds))
        # Without the environment's proxies: they would look the name up for themselves.
        client = httpx.Client(
            transport=self.transport, timeout=timeout, trust_env=False, follow_redirects=False
        )
        told = {"Host": host, "Accept": "image/*", "Accept-Encoding": "identity"}
        more = {"sni_hostname": host}
        with client, client.stream("GET", url, headers=told, extensions=more) as answer:
            if answer.status_code != httpx.codes.OK:
                raise _refused(picture, f"was answered with status {answer.status_code}")
            body = bytearray()
            for piece in answer.iter_raw():
                body += piece
                if len(body) > self.most:
                    raise _refused(picture, f"is larger than {self.most} bytes")
                if time.monotonic() > ends:
                    raise _refused(picture, f"took longer than {self.seconds:g} s")
        return bytes(body)


def _refused(picture: Remote, why: str) -> BodyError:
    return BodyError(
        "invalid_image_url", f"{picture.param}: {picture.url[:200]!r} {why}.", picture.param
    )
