"""The part of preprocess.py that renders, tokenizes and draws the labels."""

from __future__ import annotations

import re
from typing import Any

from sftui.errors import ExportError
from sftui.exports.prepared import Prepared
from sftui.exports.script_rows import reads_around
from sftui.exports.script_text import literal
from sftui.recipe import Recipe


def prepare_function(recipe: Recipe, prepared: Prepared) -> str:
    """`prepare(row, tokenizer)` → (input_ids, labels), or None for a row that is dropped."""
    detected = prepared.detected
    assert detected is not None
    lines = [
        "def prepare(row, tokenizer):",
        '    """input_ids and labels of one row; None where it is dropped."""',
        "    if row is None:",
        '        raise ValueError("not a JSON object")',
    ]
    if detected.format == "tokenized":
        lines += _stored(recipe, prepared)
    else:
        if detected.format == "text":
            lines += _text(recipe, prepared)
        else:
            lines += _conversation(recipe, prepared)
        lines += _by_tag(recipe, prepared) if recipe.mask.rule == "generation_tag" else _tokenized(recipe, prepared)
    lines += _cut(recipe)
    return "\n".join([*_indented_blank(lines), ""])


def _text(recipe: Recipe, prepared: Prepared) -> list[str]:
    assert prepared.detected is not None
    if recipe.mask.rule not in ("all", "completion"):
        raise ExportError(
            f"mask.rule {recipe.mask.rule} needs messages", why="the rows are plain text", fix="set mask.rule to all"
        )
    column = literal(prepared.detected.fields.get("text", "text"))
    return [f"    text = row[{column}]", "    if not isinstance(text, str):", '        raise ValueError("not text")']


def _has_prompt(recipe: Recipe, prepared: Prepared) -> bool:
    """Whether the prompt is rendered and tokenized alone."""
    assert prepared.detected is not None
    if prepared.detected.format in ("text", "tokenized") or recipe.mask.rule != "completion":
        return False
    return recipe.tokenize.mode == "prompt_and_full"


def _conversation(recipe: Recipe, prepared: Prepared) -> list[str]:
    """The messages, what goes to the chat template beside them, and the text it renders."""
    lines = ["    messages = to_messages(row)"]
    if recipe.mask.rule == "completion":
        if recipe.mask.prompt == "column":
            raise ExportError(
                "preprocess.py cannot express mask.prompt column", fix="set mask.prompt to last_assistant"
            )
        lines += ['    if messages[-1]["role"] != "assistant":', "        return None"]
    elif recipe.mask.rule == "assistant":
        roles = literal(list(recipe.mask.roles))
        lines += [f'    if not any(message["role"] in {roles} for message in messages):', "        return None"]
    if recipe.render.inject_system is not None:
        lines += [
            '    if not any(message["role"] == "system" for message in messages):',
            f'        messages.insert(0, {{"role": "system", "content": {literal(recipe.render.inject_system)}}})',
        ]
    lines += _options(recipe, prepared)
    if recipe.mask.rule == "generation_tag":
        return lines
    lines.append("    text = tokenizer.apply_chat_template(messages, tokenize=False, **options)")
    if _has_prompt(recipe, prepared):
        lines.append("    prompt = tokenizer.apply_chat_template(")
        lines.append("        messages[:-1], tokenize=False, add_generation_prompt=True, **options)")
    return lines


def _options(recipe: Recipe, prepared: Prepared) -> list[str]:
    """What goes to the chat template beside the messages; a row's own variables win."""
    assert prepared.detected is not None
    fields = prepared.detected.fields
    lines = ["    options = {}"]
    if recipe.render.kwargs:
        lines = [f"    options = {literal(_plain(recipe.render.kwargs))}"]
    if reads_around(prepared):
        lines.append(
            f"    options.update(from_text(row.get({literal(fields.get('template_kwargs', 'chat_template_kwargs'))}))"
            " or {})"
        )
        lines.append(f'    options["tools"] = from_text(row.get({literal(fields.get("tools", "tools"))}))')
    if prepared.template_source is not None:
        lines.append('    options["chat_template"] = CHAT_TEMPLATE')
    return lines


def _tokenized(recipe: Recipe, prepared: Prepared) -> list[str]:
    options = recipe.tokenize
    has_prompt = _has_prompt(recipe, prepared)
    lines: list[str] = [""]
    if options.bos == "strip_text":
        lines += ['    bos = tokenizer.bos_token or ""', "    text = text.removeprefix(bos)"]
        if has_prompt:
            lines.append("    prompt = prompt.removeprefix(bos)")
    if options.append_eos == "if_missing_text":
        lines += ["    if not text.endswith(tokenizer.eos_token):", "        text += tokenizer.eos_token"]
    special = f"add_special_tokens={options.add_special_tokens}"
    offsets = recipe.mask.rule == "assistant"
    if offsets:
        _check_offsets(recipe, prepared)
        lines.append(f"    encoded = tokenizer(text, {special}, return_offsets_mapping=True)")
        lines.append('    input_ids = encoded["input_ids"]')
    else:
        lines.append(f'    input_ids = tokenizer(text, {special})["input_ids"]')
    if has_prompt:
        lines.append(f'    prompt_ids = tokenizer(prompt, {special})["input_ids"]')
    if options.append_eos == "always":
        lines.append("    input_ids.append(tokenizer.eos_token_id)")
    elif options.append_eos == "if_missing_ids":
        lines += [
            "    if not input_ids or input_ids[-1] != tokenizer.eos_token_id:",
            "        input_ids.append(tokenizer.eos_token_id)",
        ]
    if options.bos == "drop_second":
        lines.append("    doubled = [tokenizer.bos_token_id] * 2")
        for name in ("input_ids", "prompt_ids") if has_prompt else ("input_ids",):
            lines += [f"    if {name}[:2] == doubled:", f"        del {name}[0]"]
    return [*lines, "", *_labels(recipe, has_prompt)]


def _by_tag(recipe: Recipe, prepared: Prepared) -> list[str]:
    """The mask of the `{% generation %}` tags, as transformers itself draws it."""
    options = recipe.tokenize
    if (options.bos, options.append_eos, options.add_special_tokens) != ("keep", "never", False):
        raise ExportError(
            "preprocess.py cannot express mask.rule generation_tag with ids or text added or dropped",
            fix="set tokenize to its defaults, or export the recipe instead",
        )
    _check_offsets(recipe, prepared)
    assert prepared.tokenizer is not None
    source = prepared.template_source or prepared.tokenizer.chat_templates.get("default", "")
    if not re.search(r"\{%-?\s*generation\s*-?%\}", source):
        raise ExportError(
            "mask.rule generation_tag trains nothing",
            why="the chat template has no {% generation %} tag",
            fix="use a template with the tag, or mask.rule assistant",
        )
    return [
        "",
        "    encoded = tokenizer.apply_chat_template(",
        "        messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True, **options)",
        '    input_ids = list(encoded["input_ids"])',
        '    trained = encoded["assistant_masks"]',
        "    labels = [token if on else IGNORE for token, on in zip(input_ids, trained)]",
    ]


def _check_offsets(recipe: Recipe, prepared: Prepared) -> None:
    """Rules drawn on character offsets need ids that are the text's own, and a tokenizer that has offsets."""
    options = recipe.tokenize
    if options.append_eos != "never" or options.bos == "drop_second":
        raise ExportError(
            f"preprocess.py cannot express mask.rule {recipe.mask.rule} with ids added or dropped",
            fix="set tokenize.append_eos to never and tokenize.bos to keep, or export the recipe",
        )
    assert prepared.tokenizer is not None
    if not prepared.tokenizer.is_fast:
        raise ExportError(
            f"preprocess.py cannot express mask.rule {recipe.mask.rule} with this tokenizer",
            why="it gives no offsets",
            fix="export the recipe instead",
        )


def _labels(recipe: Recipe, has_prompt: bool) -> list[str]:
    mask = recipe.mask
    if mask.terminator == "mask" or (mask.trailing == "mask" and mask.rule in ("completion", "assistant")):
        raise ExportError(
            "preprocess.py cannot express mask.terminator or mask.trailing as `mask`", fix="export the recipe instead"
        )
    if mask.rule == "all" or (mask.rule == "completion" and not has_prompt):
        return ["    labels = list(input_ids)"]
    if mask.rule == "completion" and mask.boundary == "prompt_length":
        return [
            "    masked = min(len(prompt_ids), len(input_ids))",
            "    labels = [IGNORE] * masked + input_ids[masked:]",
        ]
    if mask.rule == "completion":
        return [
            "    masked = 0  # only what both tokenizations share is the prompt",
            "    while masked < min(len(prompt_ids), len(input_ids)) and prompt_ids[masked] == input_ids[masked]:",
            "        masked += 1",
            "    labels = [IGNORE] * masked + input_ids[masked:]",
        ]
    if mask.rule == "assistant":
        return _assistant(recipe)
    raise ExportError(f"preprocess.py cannot express mask.rule {mask.rule}", fix="export the recipe instead")


def _assistant(recipe: Recipe) -> list[str]:
    """Every chosen message from behind its header to its end, found by rendering up to it.

    The script raises for a row where the template does not render a prefix of the conversation to
    a prefix of the text, because there the places could only be guessed.
    """
    roles = literal(list(recipe.mask.roles))
    if list(recipe.mask.roles) != ["assistant"]:
        raise ExportError(f"preprocess.py cannot express mask.roles {roles}", fix="set mask.roles to assistant")
    strip = recipe.tokenize.bos == "strip_text"
    bos = ".removeprefix(bos)" if strip else ""
    lines = [
        '    turns = [i for i, message in enumerate(messages) if message["role"] == "assistant"]',
        *(["    turns = turns[-1:]"] if recipe.mask.turns == "last" else []),
        "    spans = []",
        "    for i in turns:",
        '        if isinstance(messages[i].get("content"), str) and messages[i]["content"].isspace():',
        '            raise ValueError("an answer of white space alone: its place in the text cannot be told")',
        "        before = tokenizer.apply_chat_template(",
        f"            messages[:i], tokenize=False, add_generation_prompt=True, **options){bos}",
        f"        after = tokenizer.apply_chat_template(messages[:i + 1], tokenize=False, **options){bos}",
        "        if not (text.startswith(after) and after.startswith(before)):",
        '            raise ValueError("the chat template renders earlier turns differently")',
        "        spans.append((len(before), len(after)))",
        "    labels = [",
        "        token if any(start <= at < end for start, end in spans) else IGNORE",
        '        for token, (at, _) in zip(input_ids, encoded["offset_mapping"])',
        "    ]",
    ]
    return lines


def _stored(recipe: Recipe, prepared: Prepared) -> list[str]:
    """Rows that hold ids already: un-shifted where they are stored shifted."""
    detected = prepared.detected
    assert detected is not None
    lines = [f"    input_ids = list(row[{literal(detected.fields.get('input_ids', 'input_ids'))}])"]
    column = detected.fields.get("labels")
    if column is None:
        if recipe.mask.rule != "all":
            raise ExportError("the rows have ids but no labels", fix="set mask.rule to all")
        return [*lines, "    labels = list(input_ids)"]
    lines += [
        f"    labels = [label if label != {recipe.mask.ignore_index} else IGNORE for label in row[{literal(column)}]]",
        "    if len(labels) != len(input_ids):",
        '        raise ValueError("ids and labels differ in length")',
    ]
    if detected.given_labels == "shifted":
        lines += [
            "    # The labels are stored shifted by one: put them back in line with their ids.",
            "    last = labels[-1]",
            "    labels = [IGNORE] + (labels if last != IGNORE else labels[:-1])",
            "    if last != IGNORE:",
            "        input_ids.append(last)",
        ]
    return lines


def _cut(recipe: Recipe) -> list[str]:
    """Truncation, drops and the shift, in the order in which sftui shows them."""
    length = recipe.length
    lines: list[str] = [""]
    if length.min_tokens:
        lines += [f"    if len(input_ids) < {length.min_tokens}:", "        return None"]
    if length.max is not None:
        if length.over == "cut_right":
            lines.append("    input_ids, labels = input_ids[:MAX_LENGTH], labels[:MAX_LENGTH]")
        elif length.over == "cut_left":
            lines.append("    input_ids, labels = input_ids[-MAX_LENGTH:], labels[-MAX_LENGTH:]")
        elif length.over == "drop":
            lines += ["    if len(input_ids) > MAX_LENGTH:", "        return None"]
        else:
            lines += [
                "    if len(input_ids) > MAX_LENGTH:",
                '        raise ValueError("the row is longer than MAX_LENGTH")',
            ]
    if length.drop_unlabelled:
        lines += ["    if all(label == IGNORE for label in labels):", "        return None"]
    if recipe.loss.shift == "preshifted":
        lines += [
            "    # The training loop does not shift: labels[i] is what follows input_ids[i].",
            "    return input_ids[:-1], labels[1:]",
        ]
    else:
        lines.append("    return input_ids, labels")
    return lines


def _indented_blank(lines: list[str]) -> list[str]:
    """No two blank lines in a row, none at the end."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
