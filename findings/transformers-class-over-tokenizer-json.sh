#!/usr/bin/env bash
# transformers 5.24.0: where tokenizer_config.json names GPT2Tokenizer (or GPT2TokenizerFast, Qwen2Tokenizer, GPTNeoXTokenizer),
# the normalizer and the pre-tokenizer of tokenizer.json are replaced by those of the class, without a warning: a
# tokenizer trained with single digits and lower case makes other ids than it was saved with. 4.57.6 reads the file.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
cat >look.py <<'PY'
import json
import pathlib
import sys
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

print("transformers", transformers.__version__)
vocab = {text: number for number, text in enumerate(["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "12"])}
saved = Tokenizer(models.BPE(vocab, [("1", "2")]))
saved.normalizer = normalizers.Lowercase()
saved.pre_tokenizer = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
)
for name in ("PreTrainedTokenizerFast", "GPT2TokenizerFast"):
    folder = pathlib.Path(name)
    folder.mkdir(exist_ok=True)
    saved.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, "eos_token": "<|endoftext|>"}))
    loaded = transformers.AutoTokenizer.from_pretrained(name)
    tokens = loaded.convert_ids_to_tokens(loaded("A12").input_ids)
    print(f"  saved for {name}: 'A12' is {saved.encode('A12').tokens} in the file, {tokens} loaded as {type(loaded).__name__}")
    replaced = sys.argv[1] == "class" and name == "GPT2TokenizerFast"
    assert tokens == (["A", "12"] if replaced else ["a", "1", "2"]) and saved.encode("A12").tokens == ["a", "1", "2"]
PY
for pair in 4.57.6:file 5.24.0:class; do
  python3 -m venv --clear env
  env/bin/pip install -q "transformers==${pair%:*}"
  HF_HUB_OFFLINE=1 env/bin/python look.py "${pair#*:}" 2>log
  if grep -iE "normalizer|pre.?tokenizer|GPT2|tokenizer_class" log; then exit 1; fi
done
