#!/usr/bin/env bash
# mlx 0.32.4: Adam and AdamW do not correct the bias of their averages unless bias_correction=True, and mlx-lm's default
# config does not ask for it. The first step is 3.16 times the learning rate, (1 - 0.9) / sqrt(1 - 0.999), where torch's AdamW
# makes one of the learning rate: the same config without warm-up starts with steps three times as long.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
kind='mlx[cpu]' && [ "$(uname)" = Linux ] || kind=mlx
env/bin/pip install -q "$kind==0.32.4"
env/bin/python - <<'PY'
from importlib.metadata import version
import mlx.core as mx
import mlx.optimizers as optimizers

print("mlx", version("mlx"))
steps = {}
for asked in ({}, {"bias_correction": True}):
    optimizer = optimizers.AdamW(learning_rate=0.001, weight_decay=0.0, **asked)
    weight = {"w": mx.array([1.0])}
    moved = 1.0 - optimizer.apply_gradients({"w": mx.array([0.5])}, weight)["w"].item()
    steps[bool(asked)] = round(moved / 0.001, 2)
    print(f"  AdamW(learning_rate=0.001{', bias_correction=True' if asked else ''}): the first step is {steps[bool(asked)]} times the rate")
assert steps == {False: 3.16, True: 1.0}, steps
PY
