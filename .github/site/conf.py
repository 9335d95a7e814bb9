"""The web site, from the pages of help in sftui/docs:

    python -m sphinx -nW --keep-going -c .github/site sftui/docs build/site

with the packages of the extra `docs`. Warnings are errors; `-b linkcheck` asks the network about links that lead
elsewhere.
"""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

project = "sftui"
copyright = "the sftui authors"  # noqa: A001 - Sphinx calls it so
version = release = version_of("sftui")

extensions = ["myst_parser"]
exclude_patterns = ["__pycache__"]
myst_heading_anchors = 3
root_doc = "index"

html_theme = "furo"
html_title = f"sftui {version}"
html_copy_source = False
html_show_sourcelink = False

_ELSEWHERE = re.compile(r"\]\(\.\./(?:trainers/(?=\w+/page)|\.\./docs/)([\w-]+)(?:/page)?\.md")
_SECTION = re.compile(r"^## (?P<title>.+)$|^- \[[^\]]+\]\((?P<page>[a-z-]+)\.md\)", re.MULTILINE)


def gathered(app: Any, _: Any) -> None:
    """Let it read the pages of one folder: those of trainers stand in theirs (`sftui/trainers/NAME/page.md`)."""
    docs, pages = Path(app.srcdir), Path(app.doctreedir) / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    files = {file.stem: file for file in docs.glob("*.md")}
    files |= {file.parent.name.replace("_", "-"): file for file in docs.parent.glob("trainers/*/page.md")}
    for name, file in files.items():
        text = _ELSEWHERE.sub(lambda to: f"]({to[1].replace('_', '-')}.md", file.read_text(encoding="utf-8"))
        (pages / f"{name}.md").write_text(text, encoding="utf-8")
    app.srcdir = type(app.srcdir)(pages)


def side_bar(app: Any, name: str, source: list[str]) -> None:
    """The order of the side bar is that of the index, which is a plain page for everyone else."""
    if name != root_doc:
        return
    parts = []
    for found in _SECTION.finditer(source[0]):
        if found["title"]:
            parts.append(f"```\n\n```{{toctree}}\n:hidden:\n:caption: {found['title']}\n\n")
        else:
            parts.append(f"{found['page']}\n")
    source[0] += "\n" + "".join(parts).removeprefix("```\n\n") + "```\n"


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", gathered)
    app.connect("source-read", side_bar)
    return {"parallel_read_safe": True}
