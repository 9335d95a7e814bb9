#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0, which viewers use to count tokens in JavaScript, reads the same tokenizer.json otherwise than
# tokenizers 0.23.3: Metaspace does not cut at spaces, so that two spaces merge; Split with MergedWithNext cuts on both sides;
# a Split that removes its delimiters keeps them; a continuing_subword_prefix is not used. Nothing is said.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >npm.log && npm install --silent @huggingface/tokenizers@0.2.0 >>npm.log
python3 -m venv env
env/bin/pip install -q tokenizers==0.23.3
cat >look.mjs <<'JS'
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";
const cases = JSON.parse(readFileSync("cases.json", "utf8"));
console.log(JSON.stringify(cases.map(({ tokenizer, text }) => new Tokenizer(tokenizer, {}).encode(text).tokens)));
JS
env/bin/python - <<'PY'
import json
import subprocess
import tokenizers
from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import Metaspace, Split, WhitespaceSplit

print("tokenizers", tokenizers.__version__)


def made(merges, before, **asked):
    letters = ["▁", "a", "b", "##b"]
    joined = [first + second.removeprefix(asked.get("continuing_subword_prefix", "")) for first, second in merges]
    tokenizer = Tokenizer(models.BPE({text: id for id, text in enumerate(letters + joined)}, merges, **asked))
    tokenizer.pre_tokenizer = before
    return tokenizer


CASES = {
    "Metaspace": (made([("▁", "▁")], Metaspace()), "a  b", ["▁", "a", "▁▁", "b"]),
    "Split, merged with next": (made([("a", "b")], Split("a", "merged_with_next")), "bab", ["b", "a", "b"]),
    "Split, removed": (made([], Split("a", "removed")), "bab", ["b", "a", "b"]),
    "prefix of later parts": (
        made([("a", "##b")], WhitespaceSplit(), continuing_subword_prefix="##"), "ab", ["a", "b"]),
}
expected = [["▁", "a", "▁", "▁", "b"], ["b", "ab"], ["b", "b"], ["ab"]]
with open("cases.json", "w") as file:
    json.dump([{"tokenizer": json.loads(each.to_str()), "text": text} for each, text, _ in CASES.values()], file)
scripts = json.loads(subprocess.run(["node", "look.mjs"], capture_output=True, check=True).stdout)
for (name, (tokenizer, text, other)), own, script in zip(CASES.items(), expected, scripts):
    print(f"  {name}: {text!r} is {tokenizer.encode(text).tokens} in tokenizers, {script} in JavaScript")
    assert tokenizer.encode(text).tokens == own and script == other
PY
