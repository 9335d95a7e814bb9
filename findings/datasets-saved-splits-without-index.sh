#!/usr/bin/env bash
# datasets 4.8.5: splits saved one by one with save_to_disk(FOLDER/train) and save_to_disk(FOLDER/test) are no dataset to
# load_dataset(FOLDER): without dataset_dict.json it takes the state.json of each for data, and a set of a thousand rows
# trains as one row of `_fingerprint` and `_data_files`, without a warning. 5.2.0 reads the rows.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
cat >look.py <<'PY'
import sys
import datasets

print("datasets", datasets.__version__)
rows = datasets.Dataset.from_list([{"text": f"row {number}"} for number in range(1000)])
rows.save_to_disk("saved/train")
rows.save_to_disk("saved/test")
read = datasets.load_dataset("saved", split="train", cache_dir="cache")
print(f"  saved: 1,000 rows of ['text']; loaded: {read.num_rows:,} of {read.column_names}")
if sys.argv[1] == "rows":
    assert (read.num_rows, read.column_names) == (1000, ["text"])
else:
    assert read.num_rows == 1 and "_fingerprint" in read.column_names and "text" not in read.column_names
PY
for pair in 4.8.5:state 5.2.0:rows; do
  python3 -m venv --clear env && rm -rf saved cache
  env/bin/pip install -q "datasets==${pair%:*}" pandas==2.3.3 pyarrow==26.0.1
  HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 env/bin/python look.py "${pair#*:}"
done
