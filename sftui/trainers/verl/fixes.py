"""What to do in verl against a finding, where that is not the same for every trainer."""

from __future__ import annotations

from collections.abc import Mapping

_TEMPLATE = "model.custom_chat_template: the text of a template"

FIXES: Mapping[str, str] = {
    "ROL001": "rename the roles in the data; verl trains messages whose role is `assistant` and no others",
    "CON009": "give every tool of the file the same keys; Parquet fills the others with null",
    "TOO003": "use a template that prints tools; verl hands the column `tools` to it, as a list",
    "TOO004": "use a template that writes nothing for an empty list; null stops verl",
    "THK001": "use a template that keeps it; verl stops where the messages one by one are other than the whole",
    "TPL001": _TEMPLATE,
    "TPL002": "fold the system text into the first user message",
    "TPL005": "write the day into a copy of the template, and give that as model.custom_chat_template",
    "TPL008": "use a template that writes each message alike whatever follows it",
    "TPL011": "serve with the template of model.custom_chat_template, which is saved with the model",
    "TPL014": "data.enable_thinking_default: true or false, and the same when serving",
    "BOS001": "use a template that writes BOS once; verl adds none",
    "BOS002": "use a template that writes BOS; verl adds none",
    "BND003": "use a template that ends every message with a token of its own",
    "EOS001": "use a template that ends turns; verl appends nothing",
    "EOS003": "name the turn end as eos_token in the tokenizer_config.json of the model's folder",
    "EOS010": "start from the instruct model, or train the embeddings and the head, too",
    "LAB002": "start rows with a message that is not the assistant's, or use a template that adds no system text",
    "LAB009": "make one row of each answer; verl trains every answer of a row",
    "TRU001": "raise data.max_length",
    "TRU002": "raise data.max_length",
    "TRU004": "data.truncation: right, or raise data.max_length",
    "TRU005": "raise data.max_length (default 1024)",
    "TRU006": "raise data.train_max_samples, or set it to -1",
    "TRU007": "raise data.max_length",
    "TRU009": "set data.max_length",
    "RUN001": "set data.train_batch_size to no more than there are rows, or correct what masks or stops them",
}
