#!/usr/bin/env bash
# gigatoken 0.10.0 passes over parts of a tokenizer.json without a word: added tokens of whole words (single_word) are
# found inside of words, a pre-tokenizer that does not split, or none at all, is taken for GPT-2's regular expression.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q tokenizers==0.23.3 gigatoken==0.10.0
env/bin/python - <<'PY'
import tokenizers
from gigatoken.gigatoken_rs import load_hf_json
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

print("tokenizers", tokenizers.__version__)


def differ(what, text, before, added=()):
    vocab = {char: number for number, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocab["a1"] = len(vocab)
    made = Tokenizer(models.BPE(vocab, [("a", "1")]))
    if before is not None:
        made.pre_tokenizer = before
    made.add_tokens(list(added))
    ids = made.encode(text).ids, load_hf_json(made.to_str()).encode(text).tolist()
    print(f"  {what}: {text!r} is {ids[0]} and {ids[1]}")
    assert ids[0] != ids[1]


level = pre_tokenizers.ByteLevel(add_prefix_space=False)
differ("a token of whole words", "xcat", level, [AddedToken("cat", single_word=True)])
differ("bytes that are not split", "a1", pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
differ("no pre-tokenizer", "a1", None)
PY
