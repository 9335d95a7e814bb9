"""What each token weighs in a trainer's own loss, run with its python: a request on stdin, weights on stdout, in JSON.

`rows` are pairs of ids and labels, and `steps` lists of batches of their numbers. Of random logits the loss is taken as
the trainer takes it, and a token's weight is read from the gradient: at its label it is weight × (p - 1). Answers with
a list a step of a list a batch of a list a row, along the row's labels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

WORDS = 64


def of_trl(asked: Any, step: Sequence[Sequence[int]]) -> Iterator[list[list[float]]]:
    """TRL's collator, transformers' count of a step's items and its loss; without `counted` its mean over a batch."""
    import torch
    from transformers import Trainer
    from transformers.loss.loss_utils import ForCausalLMLoss
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    collator = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=asked["free"])
    rows, batches = asked["rows"], []
    for batch in step:
        made = [{"input_ids": rows[i][0], "labels": rows[i][1], **(rows[i][2] if asked["free"] else {})} for i in batch]
        batches.append(collator(made))
    arguments = SimpleNamespace(average_tokens_across_devices=True, world_size=1, n_gpu=1)
    trainer: Any = SimpleNamespace(
        model_accepts_loss_kwargs=True,
        compute_loss_func=None,
        _loss_shifts_labels=True,
        args=arguments,
        **dict.fromkeys(("get_tp_size", "get_cp_size", "get_sp_size"), lambda: 1),
    )
    items = Trainer._get_num_items_in_batch(trainer, batches, torch.device("cpu")) if asked["counted"] else None
    for batch, made in zip(step, batches):
        labels = made["labels"]
        logits = torch.randn(*labels.shape, WORDS, requires_grad=True)
        loss = ForCausalLMLoss(logits, labels, WORDS, items)
        (loss if items is not None else loss / len(step)).backward()
        assert logits.grad is not None
        target = torch.nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
        place = target.clamp(min=0).unsqueeze(-1)
        part = 1 - torch.softmax(logits.detach().double(), -1).gather(-1, place)
        found = (-logits.grad.double().gather(-1, place) / part).squeeze(-1)
        flat = torch.where(target == -100, 0.0, found).tolist()
        if asked["free"]:
            (line,), flat = flat, []
            for i in batch:
                flat.append(line[: len(rows[i][0])])
                line = line[len(rows[i][0]) :]
        yield [[0.0, *one[: len(rows[i][0]) - 1]] for i, one in zip(batch, flat)]


def of_mlx(asked: Any, step: Sequence[Sequence[int]]) -> Iterator[list[list[float]]]:
    """mlx-lm's batches and loss; labels begin where the prompt ends."""
    import mlx.core as mx  # type: ignore[import-not-found]
    import numpy
    from mlx_lm.tuner.trainer import default_loss, iterate_batches

    def mean(ids: Any, lengths: Any, logits: Any) -> Any:
        return default_loss(lambda _: logits, ids, lengths)[0]

    for batch in step:
        rows = [(asked["rows"][i][0], sum(label == -100 for label in asked["rows"][i][1])) for i in batch]
        ids, lengths = next(iterate_batches(rows, len(rows), 2048))
        logits = mx.random.normal((*ids[:, :-1].shape, WORDS))
        grad = mx.grad(partial(mean, ids, lengths))(logits) / len(step)
        place = ids[:, 1:, None]
        part = 1 - mx.take_along_axis(mx.softmax(logits, axis=-1), place, -1)
        found = numpy.array(-mx.take_along_axis(grad, place, -1) / part)[..., 0].tolist()
        order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
        placed = {i: [0.0, *one[: len(rows[i][0]) - 1]] for i, one in zip(order, found)}
        yield [placed[i] for i in range(len(rows))]


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    of = {"trl": of_trl, "mlx-lm": of_mlx}[asked["trainer"]]
    json.dump([list(of(asked, step)) for step in asked["steps"]], sys.stdout)
