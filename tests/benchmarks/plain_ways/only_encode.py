"""TEXTS TOKENIZER OUT: `encode_batch_fast` alone on rendered texts, a thousand at a time; OUT is not written."""

import json
import sys
from itertools import islice

from transformers import AutoTokenizer

texts, folder, _ = sys.argv[1:]
backend = AutoTokenizer.from_pretrained(folder).backend_tokenizer
backend.no_truncation()
backend.no_padding()
with open(texts, encoding="utf-8") as lines:
    while chunk := [json.loads(line) for line in islice(lines, 1000)]:
        for encoding in backend.encode_batch_fast(chunk, add_special_tokens=False):
            encoding.ids  # noqa: B018 - taking the ids out is part of it
