"""The console: pages about jobs, clusters and costs, served at `/` beside the API.

    sessions   who is signed in, in this process
    guard      every page's dependency: a session, and for what changes anything, its token
    pages      templates, headers, errors as pages
    parts      what pages bring in again and again, made once for all who look
    signin     signing in with a key, and out
    joblist    the jobs, and one job: where it stands, live
    acting     cancel, and the same again
    reports    a job's report, rendered anew from what is stored
    places     clusters with their leases, and who works
    schedules  jobs by the clock: when, what became of each run; pause, resume, run now
    costs      what a month cost
    month      a month of the ledger, added up by day, job, label, model and class
    elsewhere  addresses that there are not
    budgets    what is spent of the budgets of the settings

Rendered on the server; a script of some lines brings in what has changed. It knows jobs by their
records and receipts, as the API does, and starts nothing itself.
"""

from jobs.console.router import CONSOLE

__all__ = ["CONSOLE"]
