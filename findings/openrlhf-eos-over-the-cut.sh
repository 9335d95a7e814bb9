#!/usr/bin/env bash
# openrlhf 0.11.2, RewardDataset (DPO, reward models): EOS is written over the last token of a side that max_length cuts: the
# model learns to stop in the middle of an answer, where TRL leaves it open. And where the template ends a turn with another
# token than EOS, a space that no template has written comes before EOS.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q transformers==5.24.0 datasets==5.2.0 pandas==2.3.3 pyarrow==26.0.1 torch==2.13.0 pylatexenc==2.10 jinja2==3.1.6
env/bin/pip install -q --no-deps openrlhf==0.11.2
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=critical env/bin/python -W ignore - <<'PY'
from importlib.metadata import version
from types import SimpleNamespace as Names
import datasets
from openrlhf.datasets import RewardDataset
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

print("openrlhf", version("openrlhf"))
vocab = {word: id for id, word in enumerate(["?", " ", "<eos>", "<end>", "user:", "model:", "Why", "It", "is", "so", "No"])}
words = Tokenizer(models.WordLevel(vocab, "?"))
words.pre_tokenizer = pre_tokenizers.Split(Regex(r"<\w+>|\w+:?| "), "isolated")
chat = "{% for m in messages %}{{ m.role }}:{{ m.content }}<end>\n{% endfor %}{% if add_generation_prompt %}model:{% endif %}"
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="?", chat_template=chat)
sides = {
    side: [{"role": "user", "content": "Why"}, {"role": "model", "content": answer}]
    for side, answer in (("chosen", "It is so"), ("rejected", "No"))
}
keys = Names(prompt_key=None, chosen_key="chosen", rejected_key="rejected", apply_chat_template=True)
for length, chosen in ((20, "It, ,is, ,so,<end>, ,<eos>"), (10, "It, ,is, ,<eos>"), (8, "It, ,<eos>")):
    rows = datasets.Dataset.from_list([sides])
    data = RewardDataset(rows, tokenizer, length, Names(args=Names(data=keys)), is_dpo=True, num_processors=1)
    ids, _, other, _, prompt = data[0]
    ends = [",".join(tokenizer.convert_ids_to_tokens(side[0][prompt:].tolist())) for side in (ids, other)]
    print(f"  max_length {length}: chosen {ends[0]}; rejected {ends[1]}")
    assert ends[0] == chosen
PY
