"""All pages, as routers that `make_app` takes behind the API's."""

from fastapi import APIRouter

from jobs.console import acting, costs, elsewhere, joblist, places, reports, schedules, signin

CONSOLE: tuple[APIRouter, ...] = tuple(
    each.router for each in (signin, joblist, acting, reports, places, schedules, costs, elsewhere)
)
