#!/usr/bin/env bash
# transformers 5.24.0 takes the keys whose value is None out of each message before the template sees it: what a template does
# `if message['content'] is none` is never reached, though "content": null beside tool_calls is valid. The row falls into the
# other branch and is trained as a message with no text. Inside of tool_calls None stays. 4.57.6 passes it on.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
cat >look.py <<'PY'
import sys
import transformers
from tokenizers import Tokenizer, models

print("transformers", transformers.__version__)
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0}, [])))
call = {"name": "weather", "arguments": {"city": "Rome", "unit": None}}
messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]


def said(content):
    tokenizer.chat_template = "{% for m in messages %}" + content + "{% endfor %}"
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    print(f"  {content}: {text}")
    return text


new = sys.argv[1] == "new"
assert said("{% if m['content'] is none %}<call>{% else %}<text>{{ m['content'] }}</text>{% endif %}") == (
    "<text></text>" if new else "<call>"
)
assert said("{{ m['tool_calls'][0]['arguments'] | tojson }}") == '{"city": "Rome", "unit": null}'
PY
for pair in 4.57.6:old 5.24.0:new; do
  python3 -m venv --clear env
  env/bin/pip install -q "transformers==${pair%:*}" jinja2==3.1.6
  HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=critical env/bin/python look.py "${pair#*:}" 2>/dev/null
done
