#!/usr/bin/env bash
# datasets 4.8.5 and 5.2.0 refuse a set of CSV files that 4.8.4 loads: where each file has one row and a later one lacks a
# column. 4.8.4 fills the column with None, and so do 4.8.5 and 5.2.0 as soon as one file has two rows. The writer collects
# tables of one row and joins them at the end, and the join wants one schema.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
cat >look.py <<'PY'
import sys
import datasets

print("datasets", datasets.__version__)
WIDE, NARROW = "prompt,completion,source\nHi,Hello,web\n", "prompt,completion\nYo,Hey\n"


def loaded(name, *texts):
    paths = [f"{name}{number}.csv" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        open(path, "w").write(text)
    try:
        said = datasets.load_dataset("csv", data_files=paths, split="train", cache_dir=f"cache-{name}")["source"][:]
    except Exception as error:
        said = f"{type(error).__name__} from {type(error.__cause__).__name__}"
    print(f"  {name}: {said}")
    return said


refused = "DatasetGenerationError from ArrowInvalid"
expected = ["web", None] if sys.argv[1] == "fills" else refused
assert loaded("one-row-each", WIDE, NARROW) == expected
assert loaded("two-rows-in-one", WIDE, NARROW + "Oh,Ah\n") == ["web", None, None]
PY
for pair in 4.8.4:fills 4.8.5:refuses 5.2.0:refuses; do
  python3 -m venv --clear env
  env/bin/pip install -q "datasets==${pair%:*}" pandas==2.3.3 pyarrow==26.0.1
  HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 env/bin/python look.py "${pair#*:}"
done
