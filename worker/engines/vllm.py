"""vLLM's asynchronous engine. It batches continuously, so it is kept fed with many questions.

On a machine without a GPU the same code runs on vLLM's CPU build; only the environment below
differs.
"""

import asyncio
import os
import time
from typing import Any

from worker.engines.base import Answer, EngineOptions, Question
from worker.engines.errors import EngineDead, EngineStartFailed, QuestionRefused
from worker.engines.grammar import grammar_of

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
# An answer that goes in circles is stopped where it does, and not at max_tokens: up to 16 tokens,
# written 96 times over, which few honest lists of equal numbers are long enough for.
LONGEST_LOOP, MOST_TURNS = 16, 96


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
        # In a thread: it takes a minute, and a replica that rebuilds must answer health checks.
        self._engine = await asyncio.to_thread(
            AsyncLLM.from_engine_args, AsyncEngineArgs(**settings)
        )
        self._tokenizer = AutoTokenizer.from_pretrained(self._options.model)
        config = AutoConfig.from_pretrained(self._options.model)
        self._image_token = int(getattr(config, IMAGE_TOKEN_FIELD))

    @property
    def context(self) -> int | None:
        return None if self._engine is None else int(self._engine.model_config.max_model_len)

    def text_tokens(self, prompt: str, pictures: int) -> int:
        tokens = self._tokenizer.encode(self._render(prompt, pictures), add_special_tokens=False)
        return len(tokens) - pictures  # each stands in it as one token, to be replaced

    async def ask(self, question: Question) -> Answer:
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError

        if self._engine is None:
            raise EngineDead("the engine is not running")
        began = time.monotonic()
        images = list(question.images)
        prompt = {
            "prompt": self._render(question.prompt, len(images)),
            "multi_modal_data": {"image": images if len(images) > 1 else images[0]},
        }
        try:
            sampling = self._sampling(question)
            final = None
            async for output in self._engine.generate(prompt, sampling, question.request_id):
                final = output
        except EngineDeadError as error:
            raise EngineDead(str(error) or "the engine died") from error
        except (VLLMClientError, ValueError) as error:
            raise QuestionRefused(" ".join(str(error).split())) from error
        return self._answer(question, final, time.monotonic() - began)

    def _render(self, prompt: str, pictures: int) -> str:
        content = [{"type": "image"}] * pictures + [{"type": "text", "text": prompt}]
        return str(
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
            )
        )

    @staticmethod
    def _sampling(question: Question) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RepetitionDetectionParams, RequestOutputKind

        return SamplingParams(
            temperature=question.temperature,
            top_p=question.top_p,
            max_tokens=question.max_tokens,
            seed=question.seed,
            logprobs=0 if question.probabilities else None,  # of the chosen token alone
            structured_outputs=_forced(question),
            repetition_detection=RepetitionDetectionParams(
                max_pattern_size=LONGEST_LOOP, min_pattern_size=1, min_count=MOST_TURNS
            ),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _answer(self, question: Question, output: Any, elapsed_s: float) -> Answer:
        first, tokens = output.outputs[0], output.prompt_token_ids or []
        chosen = list(first.token_ids)
        asked = question.probabilities and first.logprobs
        return Answer(
            request_id=question.request_id,
            text=first.text,
            finish_reason=str(first.finish_reason or "unknown"),
            prompt_tokens=len(tokens),
            image_tokens=sum(1 for token in tokens if token == self._image_token),
            output_tokens=len(chosen),
            generate_s=elapsed_s,
            queue_s=0.0,
            ends=self._ends(chosen) if asked else (),
            logprobs=_logprobs(chosen, first.logprobs) if asked else (),
        )

    def _ends(self, tokens: list[int]) -> tuple[int, ...]:
        """Where the text of each token ends; a character may take several tokens."""
        return tuple(
            len(self._tokenizer.decode(tokens[:count], skip_special_tokens=True))
            for count in range(1, len(tokens) + 1)
        )

    async def check(self) -> None:
        if self._engine is None or self._engine.errored:
            raise EngineDead("the engine is not running")

    def stop(self) -> None:
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None


def _forced(question: Question) -> Any:
    from vllm.sampling_params import StructuredOutputsParams

    if question.answer_schema is None:
        return None
    try:
        grammar = grammar_of(question.answer_schema, question.spelled)
    except RuntimeError as error:
        raise QuestionRefused(f"no grammar: {' '.join(str(error).split())}") from error
    return StructuredOutputsParams(grammar=grammar)


def _logprobs(tokens: list[int], found: Any) -> tuple[float, ...]:
    return tuple(float(each[token].logprob) for token, each in zip(tokens, found, strict=True))
