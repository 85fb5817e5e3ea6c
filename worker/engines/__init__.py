"""Engines by name."""

from pathlib import Path

from worker.engines.base import Engine, EngineOptions


def make_engine(name: str, options: EngineOptions) -> Engine:
    """`vllm`, or `fake` for tests of what surrounds an engine; `fake:FOLDER` does as told there."""
    if name == "vllm":
        from worker.engines.vllm import VllmEngine

        return VllmEngine(options)
    if name == "fake":
        from worker.engines.fake import FakeEngine

        return FakeEngine(options)
    if name.startswith("fake:"):
        from worker.engines.staged import StagedEngine

        return StagedEngine(options, Path(name.removeprefix("fake:")))
    raise ValueError(f"no engine {name!r}; allowed: vllm, fake")
