"""`sftui template --probe`: what a template does with conversations that the data may not hold yet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from sftui.cli.terminal import narrate, terminal_width
from sftui.errors import TemplateError
from sftui.exports.records import as_json, attributes
from sftui.pipeline import make_toolbox
from sftui.session.versions import load
from sftui.templates import builtin_template, load_template_file
from sftui.templates.probe import (
    ERROR,
    FACT,
    ProbeReport,
    ShapeOutcome,
    ShapeProblem,
    grouped,
    probe,
    with_problems,
)
from sftui.text import visible
from sftui.views.cells import line, plain, wrap

_SIGNS = {"error": "✗ error", "warning": "! warning"}
_NAMED = 12
"""Shapes that are named in the text for one problem."""


def probe_template(shown: str | None, form: str, width: int | None, **given: Any) -> int:
    """Print what is wrong, or one shape with its text; 1 where there is an error."""
    from sftui.cli.opening import arguments

    options, notes = arguments(given).options()
    narrate(*notes)
    recipe = options.recipe
    name, ids, special_ids, special = "", None, None, None
    if recipe.tokenizer.name is not None:
        tools = make_toolbox(recipe, load(recipe, options))
        template = tools.default_template
        special, ids, special_ids = dict(tools.special_tokens), tools.tokenizer.ids, tools.tokenizer.special_pieces
    else:
        template = _without_tokenizer(recipe.render.template)
    if template is None:
        raise TemplateError(
            "there is no chat template to probe", fix="choose one with --template NAME or --template FILE"
        )
    name = visible(template.name)
    probed = probe(template, special, recipe.render.kwargs, ids, special_ids)
    if shown is not None:
        outcome, problems = with_problems(probed, shown)
        click.echo(as_json({**_shape(outcome), "problems": [_problem(one) for one in problems]}) if form == "json"
                   else "\n".join(_shown(outcome, problems)))  # fmt: skip
        return int(any(problem.grade == "error" for problem in problems))
    if form == "json":
        click.echo(as_json(_report(template.name, probed)))
    else:
        click.echo("\n".join(_lines(name, probed, width or terminal_width(), special is None)))
    return int(probed.failed)


def _without_tokenizer(named: str) -> Any:
    kind, _, name = named.partition(":")
    if kind == "file":
        return load_template_file(name)
    if kind == "builtin":
        return builtin_template(name)
    raise TemplateError(
        "there is no chat template to probe", fix="give a tokenizer with -t, or --template NAME or FILE"
    )


def _lines(name: str, probed: ProbeReport, width: int, stand_ins: bool) -> list[str]:
    groups = grouped(probed.problems)
    wrong, facts = [one for one in groups if one[0].grade != FACT], [one for one in groups if one[0].grade == FACT]
    counts = [(grade, sum(one[0].grade == grade for one in groups)) for grade in ("error", "warning")]
    totals = ", ".join(f"{n or 'no'} {grade}{'' if n == 1 else 's'}" for grade, n in counts)
    lines = _wrapped(f"{name} · {len(probed.outcomes)} conversation shapes · {totals}", width, "  ")
    if stand_ins:
        lines.append("no tokenizer: BOS and EOS are shown as <s> and </s>")
    lines.append("")
    for group in wrong:
        lines += _group(group, width)
    if not wrong:
        lines += ["✓ nothing is wrong", ""]
    if facts:
        lines.append("What this template does")
        for fact in facts:
            lines += _wrapped(f"· {visible(fact[0].said)}{_at(fact)}", width, "  ")
        lines.append("")
    if probed.stopped:
        lines += _wrapped(f"The probe stopped here: {visible(probed.stopped)}", width, "  ")
    elif wrong:
        lines.append(f"--probe-show {wrong[0][0].shape} prints that conversation and its text")
    return lines if lines[-1] else lines[:-1]


_OF_ALL = ("system", "date", "tags", "prompt", "parts")
"""Facts that hold for every shape alike."""


def _group(group: Sequence[ShapeProblem], width: int) -> list[str]:
    head = _wrapped(f"{_SIGNS[group[0].grade]} {visible(group[0].said)}", width, "    ")
    names = _names(group)
    lines = [*head, *_wrapped(f"  in {names}", width, "     ")]
    shown = next((problem for problem in group if problem.excerpt), None)
    if shown is not None:
        place = "" if shown.message is None else f", message {shown.message}"
        lines += _wrapped(f"  {shown.shape}{place}: {visible(shown.excerpt)}", width, "    ")
    return [*lines, ""]


def _names(group: Sequence[ShapeProblem]) -> str:
    names = list(dict.fromkeys(problem.shape for problem in group))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _at(group: Sequence[ShapeProblem]) -> str:
    if group[0].code not in _OF_ALL:
        return f" ({_names(group)})"
    excerpt = next((problem.excerpt for problem in group if problem.excerpt), "")
    return f": {visible(excerpt)}" if excerpt else ""


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return plain(wrap(line(text), width, indent)).splitlines()


def _shown(outcome: ShapeOutcome, problems: Sequence[ShapeProblem]) -> list[str]:
    shape = outcome.shape
    lines = [f"{shape.name}", "", "Conversation"]
    lines += ["  " + visible(json.dumps(message, ensure_ascii=False))[:2000] for message in shape.messages]
    if shape.tools is not None:
        lines.append("  tools: " + visible(json.dumps(shape.tools, ensure_ascii=False)))
    if shape.kwargs:
        lines.append("  arguments: " + visible(json.dumps(shape.kwargs, ensure_ascii=False)))
    lines += ["", "Text"]
    if outcome.text is None:
        lines.append(f"  none: {visible(outcome.error)}")
    else:
        lines += ["  " + line for line in visible(outcome.text[:4000], newline="⏎\n").split("\n")]
        lines += [f"  … {len(outcome.text) - 4000:,} more characters"] * (len(outcome.text) > 4000)
    lines += ["", "What sftui reports"]
    for problem in problems:
        place = "" if problem.message is None else f", message {problem.message}"
        lines.append(f"  {_SIGNS.get(problem.grade, '·')} {visible(problem.said)}{place}")
        lines += [f"    {visible(problem.excerpt)}"] * bool(problem.excerpt)
    if not any(problem.grade == ERROR for problem in problems):
        lines += ["  nothing is wrong"] * (not problems)
    return lines


def _report(name: str, probed: ProbeReport) -> dict[str, Any]:
    return {
        "template": name,
        "failed": probed.failed,
        "stopped": probed.stopped or None,
        "problems": [_problem(problem) for problem in probed.problems],
        "shapes": [_shape(outcome) for outcome in probed.outcomes],
    }


def _problem(one: ShapeProblem) -> dict[str, Any]:
    return attributes(one, "code", "grade", "shape", "message", "said", "excerpt")


def _shape(one: ShapeOutcome) -> dict[str, Any]:
    shape = attributes(one.shape, "name", "messages", "tools", "kwargs")
    return {**shape, "text": one.text, "error": one.error or None}
