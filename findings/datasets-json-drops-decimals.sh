#!/usr/bin/env bash
# datasets 5.2.0: Dataset.to_json writes ten decimals of a float, without a warning: the log-probability of a sure token or a
# small margin becomes 0, and the rows read back are other rows. 15 decimals are the most that can be asked for, and do
# not hold a float either. to_parquet keeps them.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q datasets==5.2.0 pandas==2.3.3 pyarrow==26.0.1
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 env/bin/python - <<'PY'
import json
import datasets
import pyarrow.parquet

print("datasets", datasets.__version__)
ROW = {"margin": 4e-11, "logprobs": [-2.5e-12, -0.1234567890123456]}
rows = datasets.Dataset.from_list([ROW])


def written(**asked):
    rows.to_json("rows.jsonl", **asked)
    read = json.load(open("rows.jsonl"))
    print(f"  to_json({', '.join(f'{key}={value}' for key, value in asked.items())}): {read}")
    return read


assert written() == {"margin": 0.0, "logprobs": [0.0, -0.123456789]}
assert written(double_precision=15) == {"margin": 4e-11, "logprobs": [-2.5e-12, -0.123456789012346]}
rows.to_parquet("rows.parquet")
assert pyarrow.parquet.read_table("rows.parquet").to_pylist() == [ROW]
PY
