#!/usr/bin/env bash
# distilabel 1.5.3: FormatTextGenerationDPO takes the first of the best and the first of the worst ratings. Where a judge rates
# all generations alike that is one and the same: the pair has the same answer as chosen and as rejected, no row is left
# out, and DPO learns nothing of it. A rating that is not a number does the same where it stands first.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q distilabel==1.5.3 requests==2.32.5
HF_HUB_OFFLINE=1 env/bin/python -W ignore - <<'PY'
from importlib.metadata import version
from distilabel.steps import FormatTextGenerationDPO

print("distilabel", version("distilabel"))
step = FormatTextGenerationDPO(name="pairs")
step.load()
CASES = [
    ([5.0, 4.0, 1.0], ("A", "C")),
    ([4.0, 4.0, 4.0], ("A", "A")),
    ([float("nan"), 4.0, 1.0], ("A", "A")),
    ([4.0, float("nan"), 1.0], ("A", "C")),
]
for ratings, expected in CASES:
    rows = next(step.process([{"instruction": "Why?", "generations": ["A", "B", "C"], "ratings": ratings}]))
    pair = tuple(rows[0][side][-1]["content"] for side in ("chosen", "rejected"))
    print(f"  A, B and C rated {ratings}: {len(rows)} row, chosen {pair[0]}, rejected {pair[1]}")
    assert len(rows) == 1 and pair == expected
PY
