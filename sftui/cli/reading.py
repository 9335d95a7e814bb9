"""How a command names the files it reads, in what it prints: by row, and from the root of the repository."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def repository_names(files: Iterable[str]) -> dict[str, str]:
    """Each file as a review names it: from the root of the repository that the run is in (else from here), with forward
    slashes.

    Files outside of it keep their name.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    names = {}
    for file in files:
        places = (os.path.abspath(file), os.path.realpath(file))
        inside = next(
            (Path(os.path.relpath(place, root)) for place in places if Path(place).is_relative_to(root)), None
        )
        names[file] = file if inside is None else inside.as_posix()
    return names
