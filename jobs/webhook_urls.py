"""Which addresses may be told something, and what a log may have of them. It imports little."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def shown(url: str) -> str:
    """An address as a log may have it: a path or a query can be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"


def check_url(url: str) -> str:
    """`url`, if requests may go there; `ValueError` says what is allowed.

    https, or http to this machine; never a link-local address, where clouds keep credentials.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.username or parts.password or any(mark in url for mark in " \t\r\n"):
        raise ValueError(f"found {url!r}; allowed: https://HOST/PATH without a user")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_this_machine(host)):
        raise ValueError(f"found {url!r}; allowed: https, or http to 127.0.0.1, ::1 or localhost")
    if _is_link_local(host):
        raise ValueError(f"found {url!r}; allowed: no link-local address")
    return url


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host).is_link_local
    except ValueError:
        return False
