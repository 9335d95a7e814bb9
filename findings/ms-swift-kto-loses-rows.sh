#!/usr/bin/env bash
# ms-swift 4.6.0, rlhf_type kto: the KL partner of a row is the answer before it in its batch, in a drawn order, and stands
# in the row as its rejected_response. One that equals the row's own answer is taken for a mistake in the data, and the row
# is dropped. Of 20 rows that answer Yes or No about half are never trained, others for another seed.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
python3 -m venv env
env/bin/pip install -q ms-swift==4.6.0 transformers==5.19.0 datasets==4.8.4 tokenizers==0.23.3 trl==0.29.1 torch==2.13.0
HF_HUB_OFFLINE=1 MODELSCOPE_OFFLINE=1 MODELSCOPE_CACHE="$folder" LOG_LEVEL=ERROR env/bin/python -W ignore - 2>err <<'PY' || { cat err; exit 1; }
import json
import pathlib
import types

import datasets
import swift
from swift.dataset.utils import EncodePreprocessor
from swift.model import get_model_processor
from swift.pipelines.train.kto import prepare_kto_dataset
from swift.template import get_template
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

datasets.disable_progress_bars()
print("ms-swift", swift.__version__)
words, letters = Tokenizer(models.BPE()), pre_tokenizers.ByteLevel.alphabet()
words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
words.train_from_iterator(["Yes."], trainers.BpeTrainer(special_tokens=["<|im_end|>"], initial_alphabet=letters))
model = pathlib.Path("tiny-llama")
PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|im_end|>").save_pretrained(model)
shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 300}
(model / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", **shape}))
template = get_template(get_model_processor(str(model), load_model=False, model_type="llama")[1], template_type="chatml")
template.set_mode("kto")


def kept(answer, seed):
    asked = [{"role": "user", "content": "Is it odd?"}]
    rows = [{"messages": [*asked, {"role": "assistant", "content": answer(n)}], "label": n % 3 > 0} for n in range(20)]
    args = types.SimpleNamespace(loss_type="kto", per_device_train_batch_size=4, gradient_accumulation_steps=1)
    args.dataset_num_proc, args.data_seed, args.desirable_weight, args.undesirable_weight = 1, seed, 1.0, 1.0
    made, _ = prepare_kto_dataset(args, datasets.Dataset.from_list(rows), None)
    return len(EncodePreprocessor(template)(made, num_proc=1))


own = [kept(lambda n: f"It is {n}.", seed) for seed in (42, 43)]
alike = [kept(lambda n: "Yes." if n % 2 else "No.", seed) for seed in (42, 43)]
print(f"  20 rows with answers of their own, two seeds: {own} kept; with Yes or No: {alike}")
assert own == [20, 20] and max(alike) < 20
PY
