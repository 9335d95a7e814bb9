#!/usr/bin/env bash
# polars 2.1.0: read_ndjson takes the columns, the keys inside of messages and the types from the first 100 rows. What a later
# row has besides is gone without a warning (its tool calls, its tools), and parts where there were texts become one text of
# JSON. A row earlier, or with infer_schema_length=None, all of it is there.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q polars==2.1.0
env/bin/python - <<'PY'
import json
import polars

print("polars", polars.__version__)
PLAIN = {"messages": [{"role": "assistant", "content": "Hello."}]}
CALL = {"messages": [{"role": "assistant", "content": "", "calls": [{"name": "add"}]}], "tools": ["add"]}
PARTS = {"messages": [{"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}]}


def last(plain, row, **asked):
    with open("rows.jsonl", "w") as file:
        file.writelines(json.dumps(each) + "\n" for each in [PLAIN] * plain + [row])
    read = polars.read_ndjson("rows.jsonl", **asked).row(-1, named=True)
    print(f"  after {plain} plain rows{' with None' if asked else ''}: {read}")
    return read


gone = {"messages": [{"role": "assistant", "content": ""}]}
assert last(99, CALL) == CALL
assert last(100, CALL) == gone
assert last(100, CALL, infer_schema_length=None) == CALL
assert json.loads(last(100, PARTS)["messages"][0]["content"]) == PARTS["messages"][0]["content"]
PY
