"""`worker.pictures` under its earlier name."""

from worker.pictures import Limits, Prepared, prepare

__all__ = ["Limits", "Prepared", "prepare"]
