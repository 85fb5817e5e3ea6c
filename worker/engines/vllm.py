"""vLLM's asynchronous engine. It batches continuously, so it is kept fed with many questions.

On a machine without a GPU the same code runs on vLLM's CPU build; only the environment below
differs.
"""

import os
import time
from typing import Any

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead, EngineStartFailed, QuestionRefused

# Read by vLLM when it is imported, so set before.
CPU_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENGINE_READY_TIMEOUT_S": "600",
}
OFFLINE_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
}
IMAGE_TOKEN_FIELD = "image_token_id"


class VllmEngine:
    """See `worker.engines.base.Engine`."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._engine: Any = None
        self._tokenizer: Any = None
        self._image_token = -1

    async def start(self) -> None:
        for name, value in {**CPU_ENVIRONMENT, **OFFLINE_ENVIRONMENT}.items():
            os.environ.setdefault(name, value)
        try:
            await self._load()
        except Exception as error:  # whatever vLLM raises, the engine did not start
            raise EngineStartFailed(f"{type(error).__name__}: {error}") from error

    async def _load(self) -> None:
        from transformers import AutoConfig, AutoTokenizer
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        settings = {
            "model": self._options.model,
            "trust_remote_code": False,
            "load_format": "safetensors",
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
            "disable_log_stats": True,
            **self._options.settings,
        }
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**settings))
        self._tokenizer = AutoTokenizer.from_pretrained(self._options.model)
        config = AutoConfig.from_pretrained(self._options.model)
        self._image_token = int(getattr(config, IMAGE_TOKEN_FIELD))

    async def ask(self, question: Question) -> Answer:
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError

        began = time.monotonic()
        prompt = {
            "prompt": self._render(question.prompt),
            "multi_modal_data": {"image": question.image},
        }
        try:
            final = None
            async for output in self._engine.generate(
                prompt, self._sampling(question), question.request_id
            ):
                final = output
        except EngineDeadError as error:
            raise EngineDead(str(error) or "the engine died") from error
        except (VLLMClientError, ValueError) as error:
            raise QuestionRefused(" ".join(str(error).split())) from error
        return self._answer(question, final, time.monotonic() - began)

    def _render(self, prompt: str) -> str:
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
        return str(
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
            )
        )

    @staticmethod
    def _sampling(question: Question) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        return SamplingParams(
            temperature=question.temperature,
            top_p=question.top_p,
            max_tokens=question.max_tokens,
            seed=question.seed,
            structured_outputs=StructuredOutputsParams(json=question.answer_schema),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _answer(self, question: Question, output: Any, elapsed_s: float) -> Answer:
        first, tokens = output.outputs[0], output.prompt_token_ids or []
        return Answer(
            request_id=question.request_id,
            text=first.text,
            finish_reason=first.finish_reason or "unknown",
            prompt_tokens=len(tokens),
            image_tokens=sum(1 for token in tokens if token == self._image_token),
            output_tokens=len(first.token_ids),
            generate_s=elapsed_s,
            queue_s=0.0,
        )

    async def check(self) -> None:
        if self._engine is None or self._engine.errored:
            raise EngineDead("the engine is not running")

    def stop(self) -> None:
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None
