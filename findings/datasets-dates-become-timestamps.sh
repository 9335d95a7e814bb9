#!/usr/bin/env bash
# datasets 5.2.0: a JSONL column of texts becomes a timestamp where every text of it is a date (2024-05-02) or a time with a
# zone, and then a row holds a datetime, in UTC and without its zone. One other word in the column, a fraction of a second or
# a day that does not exist keeps all of them text. So whether `completion` is text depends on the other rows.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q datasets==5.2.0 pandas==2.3.3 pyarrow==26.0.1
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 env/bin/python - <<'PY'
import json
import datasets

print("datasets", datasets.__version__)
CASES = [
    (["2024-05-02", "2023-01-31"], "timestamp[s]"),
    (["2024-05-02T10:00:00+02:00"], "timestamp[s]"),
    (["2024-05-02", "tomorrow"], "string"),
    (["2024-05-02T10:00:00.5"], "string"),
    (["2024-02-31"], "string"),
]
for number, (texts, dtype) in enumerate(CASES):
    with open(f"{number}.jsonl", "w") as file:
        file.writelines(json.dumps({"prompt": "When?", "completion": text}) + "\n" for text in texts)
    read = datasets.load_dataset("json", data_files=f"{number}.jsonl", split="train", cache_dir="cache")
    print(f"  {texts} -> {read.features['completion'].dtype}: {read['completion'][:]}")
    assert read.features["completion"].dtype == dtype
assert str(datasets.load_dataset("json", data_files="1.jsonl", split="train", cache_dir="cache")[0]["completion"]) == (
    "2024-05-02 08:00:00"
)
PY
