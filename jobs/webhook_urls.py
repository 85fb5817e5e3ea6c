"""Which addresses may be told something, and what a log may have of them. It imports little."""

from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from jobs.hosts import is_this_machine


def shown(url: str) -> str:
    """An address as a log may have it: a path or a query can be a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "no address"
    return f"{parts.scheme}://{parts.hostname}"


def is_plain(url: str) -> bool:
    """Whether an address goes where it seems to: no steps up its path, no user, no odd letters."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    steps = unquote(parts.path).replace("\\", "/").split("/")
    is_text = url.isascii() and url.isprintable() and " " not in url
    return bool(host) and is_text and "@" not in parts.netloc and ".." not in steps


def check_url(url: str) -> str:
    """`url`, if requests may go there; `ValueError` says what is allowed.

    https, or http to this machine; never a link-local address, where clouds keep credentials.
    """
    if not is_plain(url):
        raise ValueError(f"found {url!r}; allowed: https://HOST/PATH, plain: no user, no ..")
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and is_this_machine(host)):
        raise ValueError(f"found {url!r}; allowed: https, or http to 127.0.0.1, ::1 or localhost")
    if _is_link_local(host):
        raise ValueError(f"found {url!r}; allowed: no link-local address")
    return url


def _is_link_local(host: str) -> bool:
    try:
        return ip_address(host).is_link_local
    except ValueError:
        return False
