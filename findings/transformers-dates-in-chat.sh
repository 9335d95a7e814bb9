#!/usr/bin/env bash
# transformers 5.24.0 renders a datetime in a message as the word <datetime>, and a date as <date>: the chat is trained with
# that word, without a warning. 5.5.0 writes the date, and raises TypeError where a template joins it to a text or
# asks for its JSON.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
cat >look.py <<'PY'
import datetime
import sys
import transformers
from tokenizers import Tokenizer, models

print("transformers", transformers.__version__)
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
messages = [{"role": "user", "content": datetime.datetime(2024, 5, 2)}]


def said(content):
    tokenizer.chat_template = "{% for m in messages %}" + content + "{% endfor %}"
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
    except TypeError as error:
        text = type(error).__name__
    print(f"  {content}: {text}")
    return text


new = sys.argv[1] == "new"
assert said("{{ m['content'] }}") == ("<datetime>" if new else "2024-05-02 00:00:00")
assert said("{{ m['content'] | tojson }}") == ('"<datetime>"' if new else "TypeError")
assert said("{{ 'user: ' + m['content'] }}") == ("user: <datetime>" if new else "TypeError")
PY
for pair in 5.5.0:old 5.24.0:new; do
  python3 -m venv --clear env
  env/bin/pip install -q "transformers==${pair%:*}" jinja2==3.1.6
  HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=critical env/bin/python look.py "${pair#*:}" 2>/dev/null
done
