#!/usr/bin/env bash
# mlx-lm-lora 5.10.2, ORPO: of a `chosen` that is a whole conversation only the last answer is taken. Where the row also has a
# `system`, the whole conversation is put behind the prompt instead: the question stands twice, and the second one, behind
# the boundary, is trained as part of the answer.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
kind='mlx[cpu]' && [ "$(uname)" = Linux ] || kind=mlx
env/bin/pip install -q "$kind==0.32.4" mlx-lm==0.32.2 mlx-lm-lora==5.10.2 transformers==5.24.0
TRANSFORMERS_VERBOSITY=critical env/bin/python - <<'PY'
from importlib.metadata import version
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm_lora.trainer.datasets import ORPODataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

print("mlx-lm-lora", version("mlx-lm-lora"))
words = Tokenizer(models.WordLevel({w: id for id, w in enumerate("? . system user assistant Short Why So No".split())}, "?"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
chat = "{% for m in messages %}{{ m.role }} {{ m.content }} . {% endfor %}{% if add_generation_prompt %}assistant{% endif %}"
tokenizer = TokenizerWrapper(PreTrainedTokenizerFast(tokenizer_object=words, eos_token=".", chat_template=chat))
sides = {
    side: [{"role": "user", "content": "Why"}, {"role": "assistant", "content": answer}]
    for side, answer in (("chosen", "So"), ("rejected", "No"))
}
for system, expected in (({}, "So ."), ({"system": "Short"}, "Why . assistant So .")):
    row = ORPODataset([{"prompt": "Why", **sides, **system}], tokenizer, system_key="system")[0]
    prompt, answer = (
        tokenizer.decode(ids) for ids in (row["chosen"][: row["chosen_prompt_length"]], row["chosen"][row["chosen_prompt_length"] :])
    )
    print(f"  {'with' if system else 'without'} a system text: prompt {prompt!r}, answer {answer!r}")
    assert answer == expected
PY
