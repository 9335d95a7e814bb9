#!/usr/bin/env bash
# tokenizers 0.23.3: the `id` of an added token in tokenizer.json is written, but not read. Loaded again, added tokens get
# the next free ids in the order of the list: a file that says 10 and 11, or 5 and 4, gives 4 and 5, without a warning.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q tokenizers==0.23.3
env/bin/python - <<'PY'
import json
import tokenizers
from tokenizers import AddedToken, Tokenizer, models

print("tokenizers", tokenizers.__version__)
made = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2, "abab": 3}, [("a", "b"), ("ab", "ab")]))
made.add_special_tokens([AddedToken("<s>"), AddedToken("</s>")])
saved = json.loads(made.to_str())
for ids in ([4, 5], [10, 11], [5, 4]):
    for token, number in zip(saved["added_tokens"], ids):
        token["id"] = number
    read = Tokenizer.from_str(json.dumps(saved))
    print(f"  the file says {ids}: <s> is {read.token_to_id('<s>')}, </s> is {read.token_to_id('</s>')}")
    assert [read.token_to_id("<s>"), read.token_to_id("</s>")] == [4, 5]
PY
