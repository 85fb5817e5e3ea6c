"""Schedules: jobs by the clock, of the pictures that are new since the last time.

```
fires.py        when a cron expression fires in a time zone: pure
schedule.py     what a schedule says, and where it stands: pure
watermark.py    which pictures are new since the last run: pure
files.py        schedules and runs in the bucket, by compare-and-swap
due.py          which of the times that have passed are run, and which are missed: pure
requests.py     what a run asks, and whether it can ever be a job
running.py      one run, from its claim to its job
scheduler.py    looks at all schedules, and decides what is run
```
"""
