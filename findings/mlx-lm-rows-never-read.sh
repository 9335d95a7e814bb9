#!/usr/bin/env bash
# mlx-lm 0.32.2: iterate_batches sorts the rows by length and leaves out the last part of a batch. As the trainer calls it, a
# row's length is its number of keys: long and short rows share a batch, and what is left out is the same in every epoch:
# the rows with the most keys, such as the only one with `tools`.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
kind='mlx[cpu]' && [ "$(uname)" = Linux ] || kind=mlx
env/bin/pip install -q "$kind==0.32.4" mlx-lm==0.32.2
TRANSFORMERS_VERBOSITY=critical env/bin/python - <<'PY'
from importlib.metadata import version
from types import SimpleNamespace
from mlx_lm.tuner.datasets import CacheDataset, create_dataset
from mlx_lm.tuner.trainer import iterate_batches

print("mlx-lm", version("mlx-lm"))
words = SimpleNamespace(eos_token_id=0, encode=lambda text: [int(word) for word in text.split()])
rows = [{"text": "1 " * size} for size in (60, 3, 50, 2)]
rows.insert(1, {"text": "7 7", "tools": []})
for size, expected in ((4, [[61, 4, 51, 3]]), (2, [[51, 3], [61, 4]])):
    data = CacheDataset(create_dataset(rows, words, SimpleNamespace()))
    for epoch in (1, 2, 3):
        batches = [(batch.tolist(), spans.tolist()) for batch, spans in iterate_batches(data, size, 99)]
        lengths = sorted([end for _, end in spans] for _, spans in batches)
        seen = any(7 in sequence for batch, _ in batches for sequence in batch)
        print(f"  batches of {size}, epoch {epoch}: rows of {lengths} tokens; the row with tools is read: {seen}")
        assert lengths == expected and not seen
PY
