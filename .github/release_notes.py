"""`release_notes.py v1.2.3`: print what CHANGELOG.md says of that version, which must be the package's.

Only the standard library is needed. Ends with 1 and a sentence where the tag is not that of the version in
pyproject.toml, or where the changelog has no entries under it with a date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]


def package_version(pyproject: str) -> str:
    """The version that pyproject.toml gives the package."""
    found = re.search(r'^\[project\]\n(?:(?!\[).*\n)*?version = "([^"]+)"', pyproject, re.MULTILINE)
    if found is None:
        sys.exit("pyproject.toml has no version under [project]")
    return found[1]


def notes_of(version: str, changelog: str) -> str:
    """The text below `## [version] - YYYY-MM-DD`, up to the next version."""
    heading = re.compile(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d{{2}}-\d{{2}}$", re.MULTILINE)
    begin = heading.search(changelog)
    if begin is None:
        sys.exit(f"CHANGELOG.md has no line `## [{version}] - YYYY-MM-DD`: give what is under Unreleased its version")
    text = changelog[begin.end() :]
    end = re.search(r"^## ", text, re.MULTILINE)
    notes = text[: end.start() if end else None].strip()
    if "\n- " not in f"\n{notes}":
        sys.exit(f"CHANGELOG.md says nothing of {version}")
    return notes + "\n"


def main(words: list[str]) -> None:
    if len(words) != 1:
        sys.exit("usage: release_notes.py vX.Y.Z")
    version = package_version((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    if words[0] != f"v{version}":
        sys.exit(f"the tag is {words[0]}, but pyproject.toml says version {version}: tag v{version}, or change that")
    sys.stdout.write(notes_of(version, (REPO / "CHANGELOG.md").read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(sys.argv[1:])
