"""CONFIG… OUT: LLaMA-Factory's own preparation, `get_dataset` as `run_sft` calls it in its environment, as parquet."""

import copy
import importlib.machinery
import os
import sys
import types

os.environ.update(HF_HUB_OFFLINE="1", DISABLE_VERSION_CHECK="1", LLAMAFACTORY_VERBOSITY="ERROR", USE_V1="0")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sound = types.ModuleType("torchaudio")  # only for sound, and rarely built for the torch at hand
sound.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
sys.modules["torchaudio"] = sound
import torch  # noqa: E402 - behind the stand-in
import yaml  # noqa: E402
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer  # noqa: E402
from llamafactory.data.template import TEMPLATES  # noqa: E402
from llamafactory.hparams import get_train_args  # noqa: E402
from llamafactory.model import load_tokenizer  # noqa: E402
from timed import say_each  # noqa: E402

*configs, out = sys.argv[1:]
torch.set_num_threads(1)
untouched = copy.deepcopy(TEMPLATES)  # get_template_and_fix_tokenizer changes them


def prepare(config: str) -> None:
    with open(config, encoding="utf-8") as file:
        given = yaml.safe_load(file)
    TEMPLATES.update(copy.deepcopy(untouched))
    model_args, data_args, training_args, finetuning_args, _ = get_train_args(given)
    module = load_tokenizer(model_args)
    template = get_template_and_fix_tokenizer(module["tokenizer"], data_args)
    made = get_dataset(template, model_args, data_args, training_args, stage=finetuning_args.stage, **module)
    made["train_dataset"].to_parquet(out)


say_each(prepare, configs)
