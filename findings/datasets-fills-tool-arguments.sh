#!/usr/bin/env bash
# datasets 5.2.0: the same tool calls give other texts by the way they come in. Dataset.from_list and Parquet have one set of
# arguments for all rows and fill what a call lacks with null, and transformers 5.24.0, which takes null out of messages, does
# not do so inside of arguments: each call is trained with the parameters of all other tools. Read as JSON it is right.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q datasets==5.2.0 pandas==2.3.3 pyarrow==26.0.1 transformers==5.24.0 jinja2==3.1.6
export HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=critical
env/bin/python - 2>/dev/null <<'PY'
import json
import datasets
import transformers
from tokenizers import Tokenizer, models

print("datasets", datasets.__version__, "and transformers", transformers.__version__)
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% for c in m.calls %}{{ c | tojson }}{% endfor %}{% endfor %}"
calls = [{"name": "weather", "arguments": {"city": "Rome"}}, {"name": "add", "arguments": {"a": 1}}]
rows = [{"messages": [{"role": "assistant", "content": "", "calls": [call]}]} for call in calls]
with open("rows.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
listed = datasets.Dataset.from_list(rows)
listed.to_parquet("rows.parquet")
kinds = {name: datasets.load_dataset(name, data_files=f"rows.{end}", split="train", cache_dir="cache") for name, end in (("json", "jsonl"), ("parquet", "parquet"))}
filled = [{"city": "Rome", "a": None}, {"city": None, "a": 1}]
for name, read in {"from_list": listed, **kinds}.items():
    texts = [tokenizer.apply_chat_template(row["messages"], tokenize=False) for row in read]
    print(f"  {name}: {texts}")
    expected = [call["arguments"] for call in calls] if name == "json" else filled
    assert [json.loads(text)["arguments"] for text in texts] == expected
PY
