"""`preprocess.py`: a stand-alone script that prepares the data as the recipe does.

It needs transformers and datasets, not sftui, and reads like the scripts of the tutorials: only
the branches that this recipe and this data need are written. Whatever cannot be expressed is
refused with a sentence; a script that is nearly right would be worse than none.
"""

from __future__ import annotations

import os

from sftui.errors import ExportError
from sftui.exports.pinned import needed_version
from sftui.exports.prepared import HAND_WRITTEN, Prepared
from sftui.exports.script_labels import prepare_function
from sftui.exports.script_rows import data_files, read_function, renamed_keys, renamed_roles, row_functions
from sftui.exports.script_text import assign, literal
from sftui.exports.wording import correction_line
from sftui.recipe import Recipe, day_of

HEAD = '''\
# {correction}
"""Prepare the data for training: the ids and labels that sftui shows ({preset}).

    python preprocess.py --data DATA --tokenizer TOKENIZER --out prepared

Needs: pip install {transformers} datasets
OUT is a folder for datasets.load_from_disk, or a file ending in .jsonl or .parquet.
"""
'''

MAIN = """\
def main():
    parser = argparse.ArgumentParser(description="Prepare the data for training.")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--tokenizer", default=TOKENIZER)
    parser.add_argument("--out", default="prepared")
    arguments = parser.parse_args()

    tokenizer = load_tokenizer(arguments.tokenizer)
    records, dropped, failed = [], 0, []
    for number, row in enumerate(read_rows(arguments.data)):
        try:
            prepared = prepare(row, tokenizer)
        except Exception as error:  # a row that the chat template refuses, say: the others still count
            failed.append(f"row {number}: {type(error).__name__}: {error}")
            continue
        if prepared is None:
            dropped += 1
            continue
        input_ids, labels = prepared
        records.append({
            "row": number,
            "input_ids": input_ids,
            "labels": labels,
            "attention_mask": [1] * len(input_ids),
        })

    if arguments.out.endswith(".jsonl"):
        with open(arguments.out, "w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(record) + "\\n")
    elif arguments.out.endswith(".parquet"):
        datasets.Dataset.from_list(records).to_parquet(arguments.out)
    else:
        datasets.Dataset.from_list(records).save_to_disk(arguments.out)

    print(f"{len(records)} rows prepared, {dropped} dropped, {len(failed)} failed", file=sys.stderr)
    for message in failed[:20]:
        print(ascii(message), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
"""

DAY = '''\
class Day(datetime.datetime):
    """The day that the chat template writes, whenever this runs."""

    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(DATE)


chat_template_utils.datetime = Day
'''

LOAD = '''\
def load_tokenizer(name):
    """The tokenizer, without running code from its repository."""
{lines}
'''


def script(recipe: Recipe, base: Recipe, prepared: Prepared) -> str:
    """The text of preprocess.py; ExportError where something cannot be expressed in it."""
    check_expressible(recipe, prepared)
    rows = row_functions(recipe, prepared)
    labels = prepare_function(recipe, prepared)
    read = read_function(prepared)
    day = [DAY] if day_of(recipe) is not None and "apply_chat_template" in labels else []
    body = "\n\n".join([*day, read, load_function(recipe, prepared), *rows, labels, MAIN])
    modules = ["argparse", "json", "sys"]
    if "gzip." in body:
        modules.append("gzip")
    if "itertools." in body:
        modules.append("itertools")
    if "difflib." in body:
        modules.append("difflib")
    if day:
        modules.append("datetime")
    imports = "\n".join(f"import {name}" for name in sorted(modules))
    needed = needed_version(recipe, prepared.tokenizer)
    transformers = "transformers" if needed is None else f"transformers=={needed[0]}"
    head = HEAD.format(correction=correction_line(recipe, base), preset=recipe.preset, transformers=transformers)
    loader = recipe.tokenizer.type or (
        "PreTrainedTokenizerFast" if "PreTrainedTokenizerFast" in body else "AutoTokenizer"
    )
    return "\n".join(
        [
            head + imports,
            "",
            "import datasets",
            f"from transformers import {loader}",
            *(["from transformers.utils import chat_template_utils"] if day else []),
            "",
            *constants(recipe, prepared, body),
            "",
            "",
            body,
        ]
    )


def constants(recipe: Recipe, prepared: Prepared, body: str) -> list[str]:
    """What a reader may want to change, at the top of the script; only what `body` uses."""
    assert prepared.detected is not None
    name = recipe.tokenizer.name or ""
    found = [assign("DATA", list(data_files(prepared))), assign("TOKENIZER", tokenizer_argument(name))]
    if recipe.tokenizer.revision is not None:
        found.append(assign("REVISION", recipe.tokenizer.revision))
    found.append(assign("IGNORE", recipe.mask.ignore_index) + "  # the label of a masked token: no loss there")
    if recipe.length.max is not None:
        found.append(assign("MAX_LENGTH", recipe.length.max))
    if "fromisoformat(DATE)" in body:
        found.append(assign("DATE", recipe.render.date))
    if prepared.ranges:
        found.append(assign("PARTS", list(prepared.ranges)) + "  # first row, and one after the last")
    if "KEYS" in body:
        found.append(assign("KEYS", renamed_keys(prepared.detected)) + "  # key in the data: key in the template")
    if "ROLES" in body:
        found.append(assign("ROLES", renamed_roles(prepared.detected)))
    if prepared.template_source is not None:
        found.append(
            "CHAT_TEMPLATE = (\n"
            + "\n".join(f"    {literal(line)}" for line in prepared.template_source.splitlines(True) or [""])
            + "\n)"
        )
    return found


def check_expressible(recipe: Recipe, prepared: Prepared) -> None:
    """ExportError for the first thing that the script could not do as the screen does."""
    if recipe.preset not in HAND_WRITTEN:
        raise ExportError(
            f"preprocess.py is for {' and '.join(HAND_WRITTEN)}",
            why=f"the recipe is for {recipe.preset}",
            fix="export that trainer's config instead",
        )
    if recipe.tokenizer.name is None:
        raise ExportError("the script needs a tokenizer", fix="name one with -t")
    if prepared.detected is None:
        raise ExportError("the data is not open yet", fix="try again when the first row shows")
    if prepared.tokenizer is None and prepared.detected.format != "tokenized":
        raise ExportError("the tokenizer is not loaded yet", fix="try again when tokens show")
    if prepared.tokenizer is not None and prepared.tokenizer.state == "provisional":
        raise ExportError("the tokenizer is not proven yet", fix="try again in a few seconds")
    refusals = (
        (recipe.pack.strategy != "none", "pack.strategy", recipe.pack.strategy),
        (recipe.length.over in ("split", "proportional"), "length.over", recipe.length.over),
        (recipe.loss.weights != "none", "loss.weights", recipe.loss.weights),
        (bool(recipe.mask.options), "mask.options", "these"),
        (prepared.detected.format == "segments", "data.format", "segments"),
        (any(path.endswith(".zst") for path in prepared.paths), "data packed as", ".zst"),
    )
    for cannot, path, value in refusals:
        if cannot:
            raise ExportError(f"preprocess.py cannot express {path} {value}", fix="export the recipe instead")


def tokenizer_argument(name: str) -> str:
    """What from_pretrained takes: a bundled tokenizer by its folder, a local one by its full path."""
    if name.startswith("builtin:"):
        from sftui.tokens.locate import locate

        return locate(name).argument
    return os.path.abspath(os.path.expanduser(name)) if os.path.exists(os.path.expanduser(name)) else name


def load_function(recipe: Recipe, prepared: Prepared) -> str:
    """How the script loads its tokenizer."""
    from sftui.tokens.locate import locate

    options = recipe.tokenizer
    place = locate(options.name or "", options.revision)
    if place.kind == "file":
        call = "PreTrainedTokenizerFast(tokenizer_file=name)"
    elif place.kind == "gguf":
        raise ExportError(
            "preprocess.py cannot load a .gguf tokenizer", fix="name the Hub repository or folder it was made from"
        )
    else:
        revision = ", revision=REVISION" if options.revision is not None else ""
        call = f"{options.type or 'AutoTokenizer'}.from_pretrained(name, trust_remote_code=False{revision})"
    after = []
    for attribute, value in (
        ("bos_token", options.bos_token),
        ("eos_token", options.eos_token),
        ("pad_token", options.pad_token),
    ):
        if value is not None:
            after.append(f"    tokenizer.{attribute} = {literal(value)}")
    if not after:
        return LOAD.format(lines=f"    return {call}")
    return LOAD.format(lines="\n".join([f"    tokenizer = {call}", *after, "    return tokenizer"]))
