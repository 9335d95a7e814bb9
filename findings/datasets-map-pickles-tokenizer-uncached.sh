#!/usr/bin/env bash
# datasets 5.2.0 with transformers 5.24.0: `Dataset.map` names its result by a hash of its function, and for that pickles all
# that the function closes over, entry by entry in Python. `disable_caching()` does not change it, though nothing is looked up
# by that name then. Tokenizers of a model's own class (Qwen2Tokenizer and others) keep their vocabulary and merges as a dict
# and a list beside the Rust one, so that each map, of one row too, takes steps for each token and each merge: some five
# million, seconds, for Qwen2.5. Only a `new_fingerprint` that is given spares it.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q datasets==5.2.0 transformers==5.24.0 tokenizers==0.23.2
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=error env/bin/python - <<'PY'
import datasets
import transformers
from datasets.utils import _dill
from transformers import Qwen2Tokenizer

print("datasets", datasets.__version__, "transformers", transformers.__version__)
steps = 0
save = _dill.Pickler.save


def counted(*given, **named):
    global steps
    steps += 1
    return save(*given, **named)


_dill.Pickler.save = counted
datasets.disable_caching()
rows = datasets.Dataset.from_dict({"text": ["w1 w2"]})
for size in (1_000, 20_000):
    words = {f"w{number}": number for number in range(size)}
    tokenizer = Qwen2Tokenizer(vocab=words, merges=[], unk_token="w0", eos_token="w0", pad_token="w0")

    def encoded(row):
        return {"ids": [len(tokenizer), len(row["text"])]}

    steps = 0
    assert rows.map(encoded)[0]["ids"] == [size, 5]
    hashed, steps = steps, 0
    assert rows.map(encoded, new_fingerprint="any")[0]["ids"] == [size, 5]
    print(f"  vocabulary of {size:6,}: {hashed:7,} steps of pickle for one row without a cache, {steps:,} with a name given")
    assert hashed > size and steps < 10
PY
