"""`python -m jobs.cli` is `zeroshift`."""

from jobs.cli.main import main

main()
