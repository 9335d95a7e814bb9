"""A page of help as lines for a terminal of some width, laid out by Rich.

What a run is stands in the `meta` of its style (`meaning`), so that the app draws it in its own roles and
`sftui help` with the terminal's own colours.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

TITLE, CODE, LINK, BORDER, BULLET, STRONG = "title", "code", "link", "border", "bullet", "strong"
"""What a run of a page may be; all else is plain text."""
INDENT = 2


def meaning(style: Style | None) -> str:
    """What a run of this style is; empty for plain text."""
    return str(style.meta.get("meaning", "")) if style is not None and style.meta else ""


def _style(means: str, looks: str = "") -> Style:
    return Style.parse(looks) + Style(meta={"meaning": means})


_THEME = Theme(
    {
        **{f"markdown.h{level}": _style(TITLE, "bold") for level in range(1, 7)},
        "markdown.code": _style(CODE, "cyan"),
        "markdown.code_block": _style(CODE, "cyan"),
        "markdown.em": _style(LINK, "underline"),
        "markdown.link": _style(LINK, "underline"),
        "markdown.link_url": _style(LINK),
        "markdown.strong": _style(STRONG, "bold"),
        "markdown.item.bullet": _style(BULLET),
        "markdown.item.number": _style(BULLET),
        "markdown.table.border": _style(BORDER, "dim"),
        "markdown.table.header": _style(STRONG, "bold"),
    }
)
_RULES = {"h1": "═", "h2": "─"}
"""What stands below a heading, which nothing else tells from text where there are no colours."""


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text
        if self.tag in _RULES:
            wide = min(self.text.cell_len, options.max_width)
            yield Text(_RULES[self.tag] * wide, console.get_style("markdown.table.border"))


class _Code(CodeBlock):
    """Lines as they are, a little to the right where there is room; only one wider than the screen is folded."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plain = self.lexer_name == "text"
        style = Style.null() if plain else console.get_style("markdown.code_block")
        text = Text(str(self.text).rstrip(), style, overflow="fold")
        widest = max(cell_len(line) for line in text.plain.splitlines() or [""])
        yield Padding(text, (0, 0, 0, INDENT if widest + INDENT <= options.max_width else 0))


class _Table(TableElement):
    """A table whose cells are folded where they are too wide, never cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Page(Markdown):
    elements = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, hyperlinks=False)
        self.parsed = [_inner(token) for token in self.parsed if token.type != "html_block"]


def _inner(token: Token) -> Token:
    """A token whose links to other pages are their texts, underlined: there is nothing to click."""
    away = False
    for child in token.children or ():
        if child.type == "link_open":
            away = "://" in str(child.attrs.get("href", ""))
        if child.type in ("link_open", "link_close") and not away:
            child.type, child.tag = child.type.replace("link", "em"), "em"
    return token


def page_lines(markdown: str, width: int) -> Iterator[list[Segment]]:
    """A page line by line, none wider than `width` cells, without line feeds."""
    console = Console(file=io.StringIO(), width=width, theme=_THEME, force_terminal=True, color_system="standard")
    yield from console.render_lines(_Page(markdown), console.options.update(width=width), pad=False)
