#!/usr/bin/env bash
# trl 1.16.0, KTO: a row's KL term is estimated with the answer of the next row of its batch, the last one's with the first's.
# A row that is left over is its own partner: of 3 rows in batches of 2 the third is compared with itself, for which very
# reason a batch size of 1 is refused. Nothing is logged, and it is the same row in every epoch.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q trl==1.16.0 transformers==5.24.0 datasets==5.2.0 pandas==2.3.3 pyarrow==26.0.1 torch==2.13.0
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 TRANSFORMERS_VERBOSITY=critical env/bin/python -W ignore - <<'PY'
import datasets
import trl
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import KTOConfig, KTOTrainer

print("trl", trl.__version__)
words = Tokenizer(models.WordLevel({word: id for id, word in enumerate("? . Why So No Maybe".split())}, "?"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=".", pad_token="?")
shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 6}
answers = [" So .", " No .", " Maybe ."]
rows = [{"prompt": "Why", "completion": answer, "label": answer != " No ."} for answer in answers]


def partners(size):
    model, reference = (LlamaForCausalLM(LlamaConfig(**shape)) for _ in range(2))
    config = KTOConfig(output_dir="out", per_device_train_batch_size=size, report_to=[], use_cpu=True, bf16=False)
    data = datasets.Dataset.from_list(rows)
    trainer = KTOTrainer(model, reference, config, processing_class=tokenizer, train_dataset=data)
    pairs = [(tokenizer.decode(row["completion_ids"]), tokenizer.decode(row["KL_completion_ids"])) for row in trainer.train_dataset]
    print(f"  batches of {size}: " + "; ".join(f"{own!r} with {other!r}" for own, other in pairs))
    return [own == other for own, other in pairs]


assert partners(3) == [False, False, False]
assert partners(2) == [False, False, True]
try:
    partners(1)
except ValueError as error:
    print(f"  batches of 1: {error}")
else:
    raise SystemExit("batches of one row are taken now")
PY
