#!/usr/bin/env bash
# math-verify 0.9.0: of several \boxed answers neither the first nor the last counts: together they are a set. An answer that
# corrects itself gets no reward, and where a set is asked for, boxing its elements apart is right. With plain numbers
# the last one counts, so that "Checked 2 times" behind the right number is the answer 2.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q math-verify==0.9.0 'antlr4-python3-runtime==4.13.2'
env/bin/python - <<'PY'
from importlib.metadata import version
from math_verify import parse, verify

print("math-verify", version("math-verify"))
CASES = [
    ("$3$", r"It is \boxed{3}.", True),
    ("$3$", r"It is \boxed{4}. No, it is \boxed{3}.", False),
    (r"$\{3, 4\}$", r"It is \boxed{4}. No, it is \boxed{3}.", True),
    ("$12$", "So it is 12.", True),
    ("$12$", "So it is 12. Checked 2 times.", False),
]
for gold, answer, expected in CASES:
    right = verify(parse(gold), parse(answer))
    print(f"  {gold}: {answer} is read as {parse(answer)[0]}: {right}")
    assert right is expected
PY
