#!/usr/bin/env bash
# gigatoken 0.10.0 knows the letters of Unicode 17, tokenizers 0.23.3 those of 16: beside such a letter a byte-level
# tokenizer cuts words elsewhere, so that the ids of the same text differ. Of older letters they know the same.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q tokenizers==0.23.3 gigatoken==0.10.0
env/bin/python - <<'PY'
import tokenizers
from gigatoken.gigatoken_rs import load_hf_json
from tokenizers import Tokenizer, models, pre_tokenizers

print("tokenizers", tokenizers.__version__)
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
for letter, name, equal in (("é", "Unicode 1", True), ("\u1c89", "Unicode 16", True), ("\U00010ec7", "Unicode 17", False)):
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    last = level.pre_tokenize_str(letter)[0][0][-1]
    vocab = {char: number for number, char in enumerate(alphabet)}
    vocab[last + "x"] = len(vocab)
    made = Tokenizer(models.BPE(vocab, [(last, "x")]))
    made.pre_tokenizer = level
    ids = made.encode(letter + "x").ids, load_hf_json(made.to_str()).encode(letter + "x").tolist()
    print(f"  {name}, U+{ord(letter):04X} before an x that merges with its last byte: {ids[0]} and {ids[1]}")
    assert (ids[0] == ids[1]) is equal
PY
