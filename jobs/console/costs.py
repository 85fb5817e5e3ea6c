"""What a month cost, from the ledger, and what is left of the budgets now."""

import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from jobs.api.ids import is_job_id
from jobs.console.budgets import budgets_of
from jobs.console.guard import Looking
from jobs.console.month import month_of
from jobs.console.pages import PageRoute, damage_told, page

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/costs")
def costs(
    viewer: Looking, month: Annotated[str | None, Query(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")] = None
) -> Response:
    here, this = viewer.context, datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m")
    year, number = map(int, (month or this).split("-"))
    with damage_told():
        summed = month_of(here.store, here.bucket, year, number)
        budgets = budgets_of(viewer.request, here).now()
    chart, marks = summed.chart()
    return page(
        "costs",
        viewer,
        month=summed,
        chart=chart,
        marks=marks,
        classes=summed.classes(),
        budgets=budgets,
        is_job=is_job_id,
        is_latest=(month or this) >= this,
    )
