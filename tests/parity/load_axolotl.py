"""Axolotl's own load_tokenizer on many folders and classes: `python load_axolotl.py CASES.json ANSWERS.json`.

Run by the Python of Axolotl's environment. A case is [folder, tokenizer_type, texts]; an answer the ids without and
with special tokens, or null where it raises.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"


def main() -> None:
    from axolotl.loaders import tokenizer as loading
    from axolotl.utils.dict import DictDefault

    answers: list[Any] = []
    for folder, named, texts in json.loads(Path(sys.argv[1]).read_text()):
        config = DictDefault({"tokenizer_config": folder, "base_model": folder, "tokenizer_type": named})
        try:
            # the model's config decides nothing of the tokenizer here, and a folder without one has none
            with mock.patch.object(loading, "load_model_config", lambda cfg: DictDefault({"model_type": "llama"})):
                made = loading.load_tokenizer(config)
            answers.append([[made(text, add_special_tokens=on)["input_ids"] for text in texts] for on in (False, True)])
        except Exception:
            answers.append(None)
    Path(sys.argv[2]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
