"""Every rule and every check, as the files of `rules/` hold them: none is listed anywhere else.

Texts follow the project's catalogue of failure modes (its sources are issues and code of the trainers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from sftui.errors import RecipeError
from sftui.findings import rules
from sftui.findings.checks import DatasetCheck, Parts, RowCheck, SetupCheck
from sftui.findings.model import GRADES, Finding, Fix
from sftui.findings.rule import DROP, NAMED, TO_MESSAGES, Rule
from sftui.nearest import did_you_mean

FILES = (
    "rows",
    "roles",
    "content",
    "template",
    "boundary",
    "generation",
    "eos",
    "labels",
    "stored",
    "truncation",
    "packing",
    "tools",
    "marks",
    "tokenizer",
)
"""In this order findings of one severity are reported; what other files find comes behind, file by file by their
names."""
FAMILIES = (
    *("ROW", "ROL", "CON", "TOO", "THK", "INJ", "TOK", "TPL", "BOS", "BND"),
    *("GEN", "EOS", "LAB", "PAD", "PAC", "TRU", "RUN", "PRF", "DUP", "CFG"),
)
"""In this order codes are listed by their first three letters; other families come behind, by their names."""
_SCOPES = {
    "row": "each row by itself",
    "setup": "once for the recipe, template and tokenizer together",
    "dataset": "the whole dataset",
}


def _modules() -> Iterator[ModuleType]:
    names = [info.name for info in iter_modules(rules.__path__)]
    for name in sorted(names, key=lambda name: (FILES.index(name) if name in FILES else len(FILES), name)):
        yield import_module(f"{rules.__name__}.{name}")


def listed(found: Iterable[tuple[str, Rule]]) -> Mapping[str, Rule]:
    """Rules by the names that files give them, which are their codes from now on, in the order in which they are
    reported; ValueError where two have the same."""
    known: dict[str, Rule] = {}
    for code, rule in found:
        if known.setdefault(code, rule) is not rule:
            raise ValueError(f"two findings have the code {code}: {known[code].name} and {rule.name}")
        object.__setattr__(rule, "code", code)
    ranks = {family: rank for rank, family in enumerate(FAMILIES)}
    return dict(sorted(known.items(), key=lambda item: (ranks.get(item[0][:3], len(ranks)), item[0])))


_FOUND = tuple((module.__name__, name, one) for module in _modules() for name, one in vars(module).items())
_CHECKS = tuple(
    one
    for home, _, one in _FOUND
    if isinstance(one, (RowCheck, SetupCheck, DatasetCheck)) and one.faults.__module__ == home  # not where it is used
)
CODES: Mapping[str, Rule] = listed((name, one) for _, name, one in _FOUND if isinstance(one, Rule))
ROW_CHECKS = tuple(check for check in _CHECKS if isinstance(check, RowCheck))
SETUP_CHECKS = tuple(one for one in _CHECKS if isinstance(one, SetupCheck))
DATASET_CHECKS = tuple(one for one in _CHECKS if isinstance(one, DatasetCheck))
PARTS: Mapping[str, Parts] = {rule.code: check.parts for check in DATASET_CHECKS if check.parts for rule in check.rules}
"""Of what the findings of the whole dataset consist (see `DatasetCheck.parts`)."""
IN_ROWS = frozenset(rule.code for one in ROW_CHECKS for rule in one.rules)
"""Codes that are reported of single rows, be it that they are of the set-up and only some rows show them."""
_IN_SETUP = frozenset(rule.code for setup_check in SETUP_CHECKS for rule in setup_check.rules)
SCOPE_OF: Mapping[str, str] = {
    code: one.scope or ("row" if code in IN_ROWS else "setup" if code in _IN_SETUP else "dataset")
    for code, one in CODES.items()
}
"""Of what a code is reported: `row`, `setup` or `dataset`."""
ALIASES: Mapping[str, str] = {alias: value.code for value in CODES.values() for alias in value.aliases}
"""Codes of the project's reference that are reported under another one."""
REPAIR_OF: Mapping[str, tuple[str, ...]] = {one.code: one.repair for one in CODES.values() if one.repair}
"""What `sftui repair` can do to the data against a code (see `Rule.repair`)."""


def fix_text(code: str, trainer: str, prefers: bool = False) -> str:
    """What to do against a code under a trainer (see `Rule.fix_text`)."""
    return CODES[code].fix_text(trainer, prefers)


def cures_of(cured: Finding | None) -> tuple[Fix | str, ...]:
    """What was tried against a finding and helps: a fix of the recipe, repairs of the data that leave rows in."""
    if cured is None:
        return ()
    fixes = () if cured.fix is None or cured.fix.in_words else (cured.fix,)
    return (*fixes, *(name for name in cured.repairs or () if name != DROP))


def repair_command(name: str, code: str) -> str:
    """What to type for a repair of the data against a code."""
    typed = {DROP: f"sftui repair --drop {code}", TO_MESSAGES: "sftui convert"}
    return typed.get(name, f"sftui repair --apply {name}")


def repair_commands(code: str) -> tuple[str, ...]:
    """What to type against a code, the gentlest first."""
    return tuple(repair_command(name, code) for name in REPAIR_OF.get(code, ()))


def explain(code: str) -> str:
    """The page of one code for `sftui explain`; RecipeError with the nearest code for an unknown one."""
    wanted = code.strip().upper()
    wanted = ALIASES.get(wanted, wanted)
    if wanted not in CODES:
        raise RecipeError(f"there is no code `{code}`", fix=did_you_mean(wanted, CODES, "`sftui explain` lists them"))
    one = CODES[wanted]
    lines = [
        f"{one.code} {one.name}: {one.title}",
        "",
        one.explanation,
        "",
        f"Severity: {one.severity.value} ({one.grade.lower()}: {GRADES[one.grade].reason}).",
        f"Scope: {_SCOPES[SCOPE_OF[one.code]]}.",
    ]
    width = max(map(len, one.fixes), default=0)
    fixes = [f"  {name:<{width}}  {one.fixes[name]}" for name in NAMED if name in one.fixes]
    if len(set(one.fixes.values())) == 1 and len(one.fixes) == len(NAMED):
        fixes = [f"  {one.fixes[NAMED[0]]}"]
    if fixes:
        lines += ["", "What may fix it:", *fixes]
    if wanted in REPAIR_OF:
        lines += ["", "In the data, written to a new file:", *(f"  {command}" for command in repair_commands(wanted))]
    return "\n".join(lines) + "\n"
