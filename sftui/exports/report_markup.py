"""The templates of the report: the one place where something of the data becomes markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sftui.text import share, visible

HERE = Path(__file__).parent


def page(template: str, **values: Any) -> str:
    """A template of this folder with these values; every text in them is made visible, then escaped."""
    return str(_environment().get_template(template).render(values))


@cache
def parts() -> Any:
    """The macros of report_parts.jinja, each a function that gives markup."""
    return _environment().get_template("report_parts.jinja").module


def style(*, scoped: bool = False) -> Any:
    """The style sheet of the report as markup; scoped for a box whose colours are its own whatever page it is on."""
    from markupsafe import Markup

    text = (HERE / "report.css").read_text(encoding="utf-8").replace("\n", "")
    if scoped:
        text = text.replace(":root", "&").replace(
            "body{margin:0 auto;max-width:62rem;padding:0 1rem;", "&{padding:.25rem 1rem;"
        )
        text = f".sftui{{{text}tbody th,td:nth-child(2){{white-space:nowrap}}}}"
    return Markup(text)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from sftui.audit.bars import short

    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    made.filters.update(number="{:,}".format, share=share, short=short)
    return made


def _shown(value: object) -> object:
    """Text of its own made visible; markup that a macro gave stays."""
    return visible(value) if type(value) is str else value
