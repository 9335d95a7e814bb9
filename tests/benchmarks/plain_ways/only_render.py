"""DATA TOKENIZER OUT: the chat template alone, the whole of each row once; the texts go to OUT as JSON lines."""

import json
import sys

from transformers import AutoTokenizer

data, folder, out = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
with open(data, encoding="utf-8") as rows, open(out, "w", encoding="utf-8") as texts:
    for line in rows:
        row = json.loads(line)
        messages = row.get("messages")
        if messages is None:
            messages = [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["completion"]}]
        text = tokenizer.apply_chat_template(messages, tools=row.get("tools"), tokenize=False)
        texts.write(json.dumps(text) + "\n")
