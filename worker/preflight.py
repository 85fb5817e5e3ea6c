"""`python -m worker preflight`: can everything be imported that a replica needs? No GPU is needed.

Run it in an image before it is put on machines that cost money by the second; a driver does so too
before it has a node launched (`worker.import_check`).
"""

import importlib

NEEDED = ("ray.serve", "torch", "transformers", "vllm", "xgrammar", "PIL", "worker.replica")


def preflight() -> list[str]:
    """What can't be imported, each with why; empty when all is well."""
    return [problem for name in NEEDED if (problem := _problem(name)) is not None]


def _problem(name: str) -> str | None:
    try:
        importlib.import_module(name)
    except Exception as error:  # a broken build raises anything while it is imported
        said = " ".join(str(error).split())
        return f"{name}: {type(error).__name__}: {said}"
    return None
