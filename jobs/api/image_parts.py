"""Where a request's picture is: in the request, in a bucket, or at an address of the web. Pure."""

import base64
import re
from dataclasses import dataclass

from jobs.addresses import ROOT, Address
from jobs.api.body_checks import BodyError
from jobs.errors import UserError

DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,", re.ASCII)
LONGEST_URL = 4096


@dataclass(frozen=True, slots=True)
class Inline:
    """A picture's bytes, as the request has them."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """A picture in a bucket that the worker can read."""

    address: Address


@dataclass(frozen=True, slots=True)
class Remote:
    """A picture of the web, to be fetched when its host is allowed; `param` names its place."""

    url: str
    param: str


Picture = Inline | Stored | Remote


def picture_of(url: str, param: str) -> Picture:
    """The picture at `url`; `BodyError` when it is at no place that we know."""
    found = DATA.match(url)
    if found:
        return Inline(_decoded(url[found.end() :], param))
    if len(url) <= LONGEST_URL and url.startswith("s3://"):
        return Stored(_address(url, param))
    if len(url) <= LONGEST_URL and url.startswith("https://"):
        return Remote(url, param)
    raise BodyError(
        "invalid_image_url",
        f"{param}: found {url[:60]!r}; allowed: data:image/…;base64,…, s3://BUCKET/KEY, https://….",
        param,
    )


def _decoded(text: str, param: str) -> bytes:
    try:
        body = base64.b64decode(text, validate=True)
    except ValueError as error:  # of binascii too
        raise BodyError("invalid_image_url", f"{param}: not base64: {error}.", param) from error
    if not body:
        raise BodyError("invalid_image_url", f"{param}: an empty picture.", param)
    return body


def _address(url: str, param: str) -> Address:
    try:
        address = Address.parse(url)
    except UserError as error:
        raise BodyError("invalid_image_url", f"{param}: {error}.", param) from error
    if not address.name or address.key.startswith(ROOT):
        raise BodyError("invalid_image_url", f"{param}: {url[:60]!r} is no picture's key.", param)
    return address
