"""What each `loader.py` shares: read configs line by line, and say what the trainer's own loader makes of each.

Standalone: it runs in a trainer's environment and imports nothing of sftui. Every line of stdin is [path, text], and
for each a line `ANSWER {…}` is written: `outcome` (takes, stops), `at` (the step that stopped), `said` (the error's
last line, one line), `reads` (the keys of the config that the loader knows), `asks` (what it asks `load_dataset`
for), `values` (what the loader made of the keys that decide rows, ids and labels), `kind` (what the config is for,
where that is no fine-tuning on text), `settings` (what training then does, as the trainer's own objects have it; see
effective.py).
"""

import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path


def runner(name):
    """A trainer's runner of sftui, whose folder is not on the path: its files have names of packages."""
    place = Path(__file__).resolve().parents[2] / "sftui" / "trainers" / name / f"run_{name}.py"
    spec = importlib.util.spec_from_file_location(place.stem, place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class SettingsKnown(BaseException):
    """Ends a config whose settings alone are asked for (SETTINGS_ALONE): rows and tokenizers take most of the time."""


class Run:
    """One config on its way through the loader; `at` says which step it is in."""

    def __init__(self, path, text):
        self.path, self.text, self.at, self.kind = path, text, "read", ""
        self.reads, self.asks, self.values, self.settings = [], [], {}, {}

    def __setattr__(self, name, value):
        """Set it; a config with placeholders goes on, for a later step may stop at them."""
        super().__setattr__(name, value)
        if name == "settings" and value and os.environ.get("SETTINGS_ALONE") and not PLACEHOLDER.search(self.text):
            raise SettingsKnown


PLACEHOLDER = re.compile(r"FILL_IN_|\?\?\?")


def first_lines(error):
    """An error as one line: pydantic's list of errors without its links, anything else whole but bounded."""
    listed = getattr(error, "errors", None)
    if callable(listed):
        try:
            told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in listed()]
        except Exception:  # an error of another library with a method of that name
            told = []
        if told:
            return re.sub(r"\s+", " ", "; ".join(told))[:400]
    told = " ".join(map(str, listed)) if isinstance(listed, list) else str(error)
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {told}")[:400]


def plain(value):
    """What JSON has no word for: an enum's value, a model's or mapping's fields, a text of anything else."""
    for name in ("to_dict", "model_dump"):
        if callable(getattr(value, name, None)):
            return getattr(value, name)()
    return getattr(value, "value", str(value))


TOTALS = (1000, 10000)
"""Steps of two runs, at which what follows from the length of a run is asked for."""
ARGUMENTS = (
    *("learning_rate", "lr_scheduler_type", "lr_scheduler_kwargs", "num_train_epochs", "max_steps"),
    *("per_device_train_batch_size", "gradient_accumulation_steps", "optim", "optim_args", "adam_beta1", "adam_beta2"),
    *("adam_epsilon", "weight_decay", "max_grad_norm", "seed", "bf16", "fp16", "gradient_checkpointing"),
    *("logging_strategy", "logging_steps", "save_strategy", "save_steps", "save_total_limit", "eval_strategy"),
    *("eval_steps", "per_device_eval_batch_size", "output_dir", "neftune_noise_alpha", "label_smoothing_factor"),
)
"""Fields of transformers' TrainingArguments that say how a run goes."""


def of_arguments(arguments):
    """What training does by TrainingArguments."""
    told = {name: getattr(arguments, name) for name in ARGUMENTS}
    return {**told, "warmup": [arguments.get_warmup_steps(total) for total in TOTALS]}


def model_there(name):
    """Stop at a placeholder for a model, as a loader does that finds neither a folder nor a name of the Hub."""
    if "FILL_IN" in str(name):
        raise OSError(f"{name} is not a local folder and is not a valid model identifier")


def answer_all(open_one):
    """Ask `open_one(run)` for every config of stdin; it raises where the trainer stops."""
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    lines = sys.stdin.read().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in lines:
            if not line:
                continue
            run = Run(*json.loads(line))
            try:
                open_one(run)
                outcome, said, run.at = "takes", "", ""
            except SettingsKnown:
                outcome, said, run.at = "takes", "", ""
            except (Exception, SystemExit) as error:  # whatever it stops with is the answer
                outcome, said = "stops", first_lines(error)
            told = {"path": run.path, "outcome": outcome, "at": run.at, "said": said, "kind": run.kind}
            told.update(reads=sorted(set(run.reads)), asks=run.asks, values=run.values, settings=run.settings)
            print("ANSWER " + json.dumps(told, default=plain), flush=True)
