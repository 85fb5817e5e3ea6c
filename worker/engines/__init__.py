"""Engines by name."""

from worker.engines.base import Engine, EngineOptions


def make_engine(name: str, options: EngineOptions) -> Engine:
    """`vllm`, or `fake` for tests of what surrounds an engine."""
    if name == "vllm":
        from worker.engines.vllm import VllmEngine

        return VllmEngine(options)
    if name == "fake":
        from worker.engines.fake import FakeEngine

        return FakeEngine(options)
    raise ValueError(f"no engine {name!r}; allowed: vllm, fake")
