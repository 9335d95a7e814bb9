"""sftui/docs/codes.md: every code with what repairs it, and the examples of its rule that raise it and do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

from sftui.findings import CODES
from sftui.findings.catalogue import repair_commands
from sftui.findings.rule import GOOD, NAMED, Case, Rule, chatml
from sftui.sources import Damage
from sftui.text import clip, visible

PATH = Path(__file__).resolve().parents[3] / "sftui" / "docs" / "codes.md"
WIDTH, SHORT, LEAD = 76, 30, 12
"""Terminal cells of an example or a setting, and of one column in it; characters of a template before its
difference."""
HEAD = """\
# Every finding

{count} codes: {errors} errors, {warnings} warnings, {infos} notices. `sftui explain CODE` shows one of
them in the terminal; [findings](findings.md) explains how to work with them.

<!-- Written by `SFTUI_GOLDEN=write pytest tests/unit/findings/test_findings_codes.py` from `sftui/findings/rules/`. -->

Each code names an example that raises it and one that does not; both are tested. An example is named by a row that the
other one lacks (or its first row), then the settings that differ from the defaults (`hf-trainer`, tokenizer
`builtin:chatml`); long names are clipped. "a plain chat" is one question with one answer under default settings.
"""


def document() -> str:
    """The whole page."""
    severities = [code.severity.value for code in CODES.values()]
    parts = [
        HEAD.format(
            count=len(CODES),
            errors=severities.count("error"),
            warnings=severities.count("warning"),
            infos=severities.count("info"),
        )
    ]
    for family, codes in groupby(sorted(CODES), key=lambda code: code[:3]):
        parts.append(f"\n## {family}\n")
        parts += [_section(CODES[code]) for code in codes]
    return "".join(parts)


def _section(rule: Rule) -> str:
    """A heading whose anchor is the code alone (`codes.md#tru001`), and what the catalogue and the examples say."""
    bad, good = rule.bad, rule.good
    lines = [
        f"\n### {rule.code}\n",
        f"**{rule.name}** · {rule.severity.value} ({rule.grade.lower()}): {_safe(rule.title)}\n",
        f"{_safe(rule.explanation)}\n",
        *(f"- {told}" for told in _repair(rule)),
        f"- raised by {_example(bad, good)}",
        f"- not raised by {_example(good, bad)}",
    ]
    return "\n".join(lines) + "\n"


def _repair(rule: Rule) -> list[str]:
    """What repairs it: one sentence for all trainers, or one for each group of them that shares it."""
    by_text: dict[str, list[str]] = {}
    for trainer in NAMED:
        if trainer in rule.fixes:
            by_text.setdefault(rule.fixes[trainer], []).append(trainer)
    told = [
        _safe(text) if len(by_text) == 1 and len(names) == len(NAMED) else f"{', '.join(names)}: {_safe(text)}"
        for text, names in by_text.items()
    ]
    told += [f"`{command}`" for command in repair_commands(rule.code)]
    return told


def _example(case: Case, other: Case) -> str:
    """A case by the first row that the other has not, or its first one, and by its settings."""
    own = [row for row in case.rows if row not in other.rows] or [case.rows[0]]
    row, beside = own[0], other.rows[0]
    if isinstance(row, Mapping) and isinstance(beside, Mapping) and "chosen" in row:  # of a pair what differs
        row = {name: value for name, value in row.items() if value != beside.get(name)} or row
    data = "a plain chat" if row == GOOD else _code(_row(row))
    if len(case.rows) > 1 and case.rows.count(own[0]) == len(case.rows):
        data += f", {len(case.rows)} times"
    return ", ".join([data, *map(_code, _settings(case, other))])


def _row(row: Any) -> str:
    if isinstance(row, str):
        return row
    if not isinstance(row.get("messages"), list) or not row["messages"]:
        return " · ".join(f"{name}: {clip(_value(value), SHORT)}" for name, value in row.items())
    turns = " · ".join(f"{turn.get('role', '(no role)')}: {_turn(turn)}" for turn in row["messages"])
    rest = {name: value for name, value in row.items() if name != "messages"}
    return f"{_json(rest)} {turns}" if rest else turns


def _value(value: Any) -> str:
    """A column; of messages what they say."""
    if isinstance(value, list) and value and all(isinstance(turn, Mapping) and "content" in turn for turn in value):
        return " / ".join(map(_turn, value))
    return _json(value)


def _turn(turn: Mapping[str, Any]) -> str:
    content = turn.get("content")
    said = content if isinstance(content, str) and content.strip() == content and content else _json(content)
    rest = {name: value for name, value in turn.items() if name not in ("role", "content")}
    return f"{said} {_json(rest)}" if rest else said


def _settings(case: Case, other: Case) -> list[str]:
    """What is not the default, as `name value`; a template from where it leaves the other's, or plain ChatML, on."""
    made = [f"preset {case.preset}"] if case.preset != "hf-trainer" else []
    if case.tokenizer != "chatml":
        made.append(f"tokenizer {case.tokenizer}")
    if case.template is not None:
        made.append(f"template {_template(case.template, other.template)}")
    made += [f"{path} {_json(value)}" for path, value in case.changes.items()]
    for name, values in (
        ("generation_config", case.generation_config),
        ("config", case.model_config),
        ("tokenizer", case.facts),
    ):
        made += [f"{name}.{key} {_json(value)}" for key, value in (values or {}).items()]
    made += [Damage(*one).sentence() for one in case.damage]
    if case.second:
        made.append(f"a second file with {' / '.join(map(_row, case.second))}")
    if case.evaluation:
        made.append(f"evaluation rows {' / '.join(map(_row, case.evaluation))}")
    if case.edit:
        made.append(case.edit.replace("_", " "))
    return made


def _template(source: str, other: str | None) -> str:
    if "{%" not in source or source == chatml():
        return ("plain ChatML" if source == chatml() else source) or "none"
    beside = other if other and other != source else chatml()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(source, beside)))
    return f"…{source[same - LEAD :]}" if same > LEAD else source


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=list)


def _code(text: str) -> str:
    """Data as code in a cell: clipped, nothing in it is markup."""
    return f"`{_cell(clip(visible(text).replace('`', 'ˋ'), WIDTH))}`"


def _safe(text: str) -> str:
    """Our own prose in a cell: tags in it stand as they are read."""
    return _cell(text.replace("<", "&lt;")) if "`" not in text else _cell(text)


def _cell(text: str) -> str:
    return text.replace("\n", " ")
