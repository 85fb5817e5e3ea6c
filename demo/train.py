"""Train the bundled model on synthetic pictures: `python -m demo.train --minutes 60 --out FOLDER`.

A batch holds one size so that the vision tower runs as plain batched attention. Beside the answer's
cross-entropy, a throw-away head asks every image token which kinds of defect cover its four
patches, where the token itself is, and the box of the defect that covers it. That dense signal gets
the model off the plateaus on which the answer loss alone sits for a thousand steps: the vision
tower knows only relative positions, and learns absolute ones slowly unless it is asked. The head
is not saved.

Numbers are tokens without an order, and each is rare. Two things give them one: their embeddings
start as waves over the number line, and their targets are a bell around the true number that
narrows as training goes on.
"""

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader, IterableDataset
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import apply_rotary_pos_emb_vision

from demo import architecture
from demo.answers import FACTOR, LARGEST_SIDE, PROMPT, answer_text, scaled
from demo.defects import KINDS, Defect
from demo.parts import draw_part
from demo.tokenizer import build_tokenizer

# Model sizes (width, height) that cameras' aspect ratios come to at 32 to 48 tokens, and shares.
SIZES = (
    (224, 168),
    (168, 168),
    (252, 140),
    (168, 224),
    (140, 252),
    (224, 140),
    (140, 224),
    (196, 168),
)
SHARES = (0.32, 0.17, 0.20, 0.07, 0.04, 0.08, 0.04, 0.08)
POOL, FRESH = 1500, 16  # pictures kept per size, and new ones drawn for each batch
MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
STD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
FIRST_SEED = 1_000_000  # held-out sets use seeds below this
IGNORED = -100
NARROWEST = 0.6  # pixels: the spread of a number's target at the end
COVER, UNIT = 4 * len(KINDS), 64.0
LONGEST = 24  # tokens of the longest answer, its end included


Sample = tuple[np.ndarray, tuple[Defect, ...]]  # a model-sized picture and its truth


class Batches(IterableDataset):
    """An endless stream of batches: pixels, input ids, labels, cell targets, grid.

    Drawing is dear, so each picture waits in a pool and is used about three times, mirrored at
    random; each batch brings `FRESH` new ones.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, batch: int, first: int) -> None:
        self.tokenizer, self.batch, self.first = tokenizer, batch, first

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        torch.set_num_threads(1)
        rng = np.random.default_rng(self.first)
        seeds = iter(range(self.first, 2 * FIRST_SEED + self.first))
        pools: dict[int, list[Sample]] = {i: [] for i in range(len(SIZES))}
        while True:
            size = int(rng.choice(len(SIZES), p=SHARES))
            pool = pools[size]
            fresh = FRESH if len(pool) >= 4 * self.batch else self.batch
            new = [_sample(next(seeds), *SIZES[size]) for _ in range(fresh)]
            old = (
                [pool[i] for i in rng.integers(len(pool), size=self.batch - fresh)] if pool else []
            )
            for sample in new:
                if len(pool) < POOL:
                    pool.append(sample)
                else:
                    pool[rng.integers(POOL)] = sample
            yield collate(self.tokenizer, [_mirror(rng, s) for s in new + old])


def _mirror(rng: np.random.Generator, sample: Sample) -> Sample:
    image, found = sample
    height, width = image.shape[:2]
    if rng.random() < 0.5:
        image = image[:, ::-1]
        found = tuple(
            Defect(d.kind, (width - d.box[2], d.box[1], width - d.box[0], d.box[3])) for d in found
        )
    if rng.random() < 0.5:
        image = image[::-1]
        found = tuple(
            Defect(d.kind, (d.box[0], height - d.box[3], d.box[2], height - d.box[1]))
            for d in found
        )
    return image, tuple(sorted(found))


def _sample(seed: int, width: int, height: int) -> Sample:
    """A part drawn larger than the model's picture and brought down to it, as a camera's is."""
    rng = np.random.default_rng(seed + 7)
    zoom = rng.uniform(1.1, 1.8)
    squeeze = rng.uniform(0.94, 1.06)  # the grid is not quite the camera's aspect ratio
    source = (round(width * zoom * squeeze), round(height * zoom / squeeze))
    part = draw_part(seed, *source)
    small = part.image.resize((width, height), resample=Image.Resampling.BICUBIC)
    boxes = [scaled(d.box, width / source[0], height / source[1]) for d in part.defects]
    found = [Defect(d.kind, box) for d, box in zip(part.defects, boxes, strict=True)]
    return np.asarray(small), tuple(found)


def collate(tokenizer: PreTrainedTokenizerFast, samples: list[Sample]) -> dict[str, Tensor]:
    height, width = samples[0][0].shape[:2]
    head = prompt_ids(tokenizer, width, height)
    tails = [
        [*tokenizer.encode(answer_text(found)), tokenizer.eos_token_id] for _, found in samples
    ]
    pad = [t + [tokenizer.pad_token_id] * (LONGEST - len(t)) for t in tails]
    labels = [t + [IGNORED] * (LONGEST - len(t)) for t in tails]
    return {
        "pixels": torch.from_numpy(np.stack([_patches(image) for image, _ in samples])),
        "input_ids": torch.tensor([head + t for t in pad]),
        "labels": torch.tensor(labels),
        "cells": torch.from_numpy(np.stack([_cells(f, width, height) for _, f in samples])),
        "grid": torch.tensor([1, height // 14, width // 14]),
    }


def prompt_ids(tokenizer: PreTrainedTokenizerFast, width: int, height: int) -> list[int]:
    content = [{"type": "image"}, {"type": "text", "text": PROMPT}]
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    tokens = (width // FACTOR) * (height // FACTOR)
    return list(tokenizer.encode(text.replace("<|image_pad|>", "<|image_pad|>" * tokens)))


def _patches(image: np.ndarray) -> np.ndarray:
    """The Qwen2-VL patch layout: (patches, 1176), four patches of a merge cell in a row."""
    x = (image.astype(np.float32) / 255 - MEAN) / STD
    rows, columns = x.shape[0] // FACTOR, x.shape[1] // FACTOR
    x = x.reshape(rows, 2, 14, columns, 2, 14, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    x = np.repeat(x[:, :, :, :, :, None], 2, axis=5)
    return np.ascontiguousarray(x.reshape(rows * columns * 4, -1))


def _cells(found: tuple[Defect, ...], width: int, height: int) -> np.ndarray:
    """Targets of each image token, float32 of (cells, CELL_TARGETS).

    Share of each of its four 14-pixel patches under a box of each kind, its own centre, the box
    that covers most of it (both in units of UNIT pixels), and 1 where there is such a box.
    """
    rows, columns = height // 14, width // 14
    cover = np.zeros((rows, columns, len(KINDS)), np.float32)
    most = np.full((rows // 2, columns // 2), 0.05, np.float32)
    boxes = np.zeros((rows // 2, columns // 2, 5), np.float32)
    for defect in found:
        share = _share(defect.box, rows, columns, 14)
        kind = KINDS.index(defect.kind)
        cover[..., kind] = np.maximum(cover[..., kind], share)
        whole = _share(defect.box, rows // 2, columns // 2, FACTOR)
        boxes[whole > most] = [*(edge / UNIT for edge in defect.box), 1]
        most = np.maximum(most, whole)
    cells = rows * columns // 4
    cover = cover.reshape(rows // 2, 2, columns // 2, 2, -1).transpose(0, 2, 1, 3, 4)
    centre = np.stack(np.meshgrid(np.arange(columns // 2), np.arange(rows // 2)), -1)
    centre = ((centre + 0.5) * FACTOR / UNIT).astype(np.float32)
    parts = (cover.reshape(cells, -1), centre.reshape(cells, 2), boxes.reshape(cells, 5))
    return np.concatenate(parts, axis=1)


def _share(box: tuple[int, int, int, int], rows: int, columns: int, side: int) -> np.ndarray:
    x1, y1, x2, y2 = np.array(box) / side
    r, c = np.arange(rows), np.arange(columns)
    down = np.clip(np.minimum(r + 1, y2) - np.maximum(r, y1), 0, 1)
    across = np.clip(np.minimum(c + 1, x2) - np.maximum(c, x1), 0, 1)
    return np.asarray(down[:, None] * across[None, :], np.float32)


rotate = torch.compile(apply_rotary_pos_emb_vision)


def _compile_parts(model: Qwen2_5_VLForConditionalGeneration) -> None:
    """Fuse the element-wise work of norms and feed-forwards: a fifth of a step on a CPU."""
    for block in model.model.visual.blocks:
        for part in (block.mlp, block.norm1, block.norm2):
            part.compile()
    for layer in model.model.language_model.layers:
        for part in (layer.mlp, layer.input_layernorm, layer.post_attention_layernorm):
            part.compile()


def _batched_attention(attention: nn.Module, state: dict[str, int]) -> None:
    """Run the vision attention of pictures of one size as one batch instead of a loop."""

    def forward(
        hidden_states: Tensor, position_embeddings: tuple[Tensor, Tensor], **_: object
    ) -> Tensor:
        total = hidden_states.shape[0]
        q, k, v = (
            attention.qkv(hidden_states)
            .reshape(total, 3, attention.num_heads, -1)
            .permute(1, 0, 2, 3)
            .unbind(0)
        )
        q, k = rotate(q, k, *position_embeddings)
        q, k, v = (
            t.view(state["batch"], -1, attention.num_heads, attention.head_dim).transpose(1, 2)
            for t in (q, k, v)
        )
        out = F.scaled_dot_product_attention(q, k, v)
        return attention.proj(out.transpose(1, 2).reshape(total, -1))

    attention.forward = forward  # type: ignore[method-assign]


def _dense_loss(guess: Tensor, truth: Tensor) -> Tensor:
    cover = F.binary_cross_entropy_with_logits(guess[:, :COVER], truth[:, :COVER])
    centre = F.smooth_l1_loss(guess[:, COVER : COVER + 2], truth[:, COVER : COVER + 2], beta=0.1)
    covered = truth[:, -1] > 0
    if not covered.any():
        return 10 * cover + centre
    box = F.smooth_l1_loss(
        guess[covered, COVER + 2 :], truth[covered, COVER + 2 : COVER + 6], beta=0.03
    )
    return 10 * cover + centre + 4 * box


class Numbers:
    """The number tokens 0..LARGEST_SIDE, their order, and their soft targets."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.values = torch.arange(LARGEST_SIDE + 1)
        texts = [str(value) for value in self.values.tolist()]
        self.ids = torch.tensor(tokenizer.convert_tokens_to_ids(texts))
        self.vocabulary = len(tokenizer)
        self.table = torch.eye(self.vocabulary)

    def order(self, embeddings: Tensor) -> None:
        """Start the numbers' embeddings as waves of many lengths, so that neighbours are alike."""
        width = embeddings.shape[1]
        lengths = torch.logspace(math.log10(8), math.log10(1024), width // 2)
        phase = 2 * math.pi * self.values[:, None] / lengths
        waves = torch.cat([phase.sin(), phase.cos()], 1) @ _rotation(width)
        scale = embeddings.norm(dim=1).mean() / waves.norm(dim=1, keepdim=True)
        with torch.no_grad():
            embeddings[self.ids] = waves * scale

    def soften(self, spread: float) -> None:
        """Make each number's target a bell with this standard deviation, in pixels."""
        gap = (self.values[:, None] - self.values[None, :]).float()
        bell = torch.exp(-0.5 * (gap / spread) ** 2)
        self.table = torch.eye(self.vocabulary)
        self.table[self.ids[:, None], self.ids[None, :]] = bell / bell.sum(1, keepdim=True)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over labels that count: logits (n, vocabulary), labels (n)."""
        counted = labels != IGNORED
        guess = F.log_softmax(logits[counted], dim=-1)
        return -(self.table[labels[counted]] * guess).sum(-1).mean()


def _rotation(width: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    rotation, _ = torch.linalg.qr(torch.randn(width, width, generator=generator))
    return rotation


class Trainer:
    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, rate: float, start: Path | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.model: Qwen2_5_VLForConditionalGeneration = architecture.build_model(tokenizer)
        if start is not None:
            self.model = Qwen2_5_VLForConditionalGeneration.from_pretrained(
                start, dtype=torch.float32
            )
        self.numbers = Numbers(tokenizer)
        if start is None:
            self.numbers.order(self.model.get_input_embeddings().weight)
        self.cells = nn.Linear(architecture.WIDTH, COVER + 6)
        self.state = {"batch": 0}
        for block in self.model.model.visual.blocks:
            _batched_attention(block.attn, self.state)
        _compile_parts(self.model)
        decay = [p for p in self.parameters() if p.dim() > 1]
        rest = [p for p in self.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}],
            lr=rate,
            betas=(0.9, 0.98),
            fused=True,
        )
        self.positions: dict[tuple[int, ...], Tensor] = {}

    def parameters(self) -> list[nn.Parameter]:
        return [*self.model.parameters(), *self.cells.parameters()]

    def losses(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        ids, labels = batch["input_ids"], batch["labels"]
        count = self.state["batch"] = len(ids)
        grid = batch["grid"].repeat(count, 1)
        inner = self.model.model
        with torch.autocast("cpu", torch.bfloat16):
            tokens = inner.visual(batch["pixels"].flatten(0, 1), grid_thw=grid).pooler_output
            cover = self.cells(tokens)
            embeds = inner.get_input_embeddings()(ids)
            image = (ids == self.model.config.image_token_id).unsqueeze(-1).expand_as(embeds)
            embeds = embeds.masked_scatter(image, tokens.to(embeds.dtype))
            hidden = inner.language_model(
                inputs_embeds=embeds, position_ids=self._positions(ids, grid), use_cache=False
            ).last_hidden_state
            logits = self.model.lm_head(hidden[:, -labels.shape[1] - 1 : -1])
        answer = self.numbers.loss(logits.float().flatten(0, 1), labels.flatten())
        return answer, _dense_loss(cover.float(), batch["cells"].flatten(0, 1))

    def _positions(self, ids: Tensor, grid: Tensor) -> Tensor:
        key = (ids.shape[1], *grid[0].tolist())
        if key not in self.positions:
            kinds = (ids[:1] == self.model.config.image_token_id).int()
            self.positions[key], _ = self.model.model.get_rope_index(ids[:1], kinds, grid[:1])
        return self.positions[key].expand(-1, len(ids), -1)

    def step(self, batch: dict[str, Tensor], rate: float) -> tuple[float, float]:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with sdpa_kernel(SDPBackend.MATH):  # the fused kernel's backward is slow at these sizes
            answer, dense = self.losses(batch)
            (answer + dense).backward()
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(answer.detach()), float(dense.detach())


def train(
    out: Path, minutes: float, batch: int, rate: float, seed: int, spread: float, start: Path | None
) -> None:
    torch.manual_seed(seed)
    tokenizer = build_tokenizer()
    trainer = Trainer(tokenizer, rate, start)
    first = FIRST_SEED * (1 + seed)
    stream = DataLoader(
        Batches(tokenizer, batch, first), batch_size=None, num_workers=1, prefetch_factor=4
    )
    began, sums, count = time.monotonic(), [0.0, 0.0], 0
    for step, item in enumerate(stream):
        done = (time.monotonic() - began) / (minutes * 60)
        if done >= 1:
            break
        if step % 20 == 0:
            trainer.numbers.soften(NARROWEST + spread * (1 - done))
        warm = min(1.0, (step + 1) / 100)
        losses = trainer.step(
            item, rate * warm * (0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2)
        )
        sums, count = [s + x for s, x in zip(sums, losses, strict=True)], count + 1
        if step % 20 == 0:
            print(
                f"step {step} {100 * done:.1f}% answer {sums[0] / count:.3f} "
                f"dense {sums[1] / count:.4f} {time.monotonic() - began:.0f}s",
                flush=True,
            )
            sums, count = [0.0, 0.0], 0
        if step % 250 == 249:
            architecture.save(out, trainer.model, tokenizer)
    architecture.save(out, trainer.model, tokenizer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spread", type=float, default=2.4, help="wider at the start, pixels")
    parser.add_argument("--start", type=Path, help="a checkpoint to go on from")
    options = parser.parse_args()
    train(**vars(options))
