"""All pages as one router, which `make_app` takes behind the API's."""

from fastapi import APIRouter

from jobs.console import acting, costs, elsewhere, joblist, places, reports, schedules, signin


def console_router() -> APIRouter:
    router = APIRouter()
    for each in (signin, joblist, acting, reports, places, schedules, costs, elsewhere):
        router.include_router(each.router)
    return router
