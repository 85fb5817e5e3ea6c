"""Addresses that there are not, as pages: for whoever mistyped one, or reloads what a form was sent
to. Those of the API keep the API's own answers."""

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.convertors import StringConvertor, register_url_convertor

from jobs.console.pages import PageRoute
from jobs.errors import NotFound

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class _OfPages(StringConvertor):
    regex = r"(?!v1(?:/|$)).*"


register_url_convertor("of_pages", _OfPages())


@router.get("/{path:of_pages}")
def elsewhere(path: str) -> Response:
    raise NotFound(f"there is no page /{path[:80]}")
