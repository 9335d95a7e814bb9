"""The bundled sample data, from a clone or from an installed wheel."""

from __future__ import annotations

from pathlib import Path

import sftui
from sftui.errors import SourceError
from sftui.nearest import did_you_mean
from sftui.session.options import OpenOptions

DEFAULT_SAMPLE = "defects"
DEFAULT_TOKENIZER = "builtin:chatml"
SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


def sample_folder() -> Path:
    """Where the sample data is; SourceError where the installation lacks it."""
    package = Path(sftui.__file__).parent
    for folder in (package / "_sample_data", package.parent / "sample_data"):
        if folder.is_dir():
            return folder
    raise SourceError("the sample data is not part of this installation", fix="install sftui again")


def samples() -> dict[str, Path]:
    """Every bundled sample by name."""
    return {path.stem: path for path in sorted(sample_folder().iterdir()) if path.suffix in SUFFIXES}


def demo_options(name: str | None, tokenizer: str | None, debug: bool = False) -> OpenOptions:
    """What `sftui demo NAME` opens; SourceError names the samples there are."""
    from sftui.recipe import changed
    from sftui.trainers import preset

    found = samples()
    wanted = name if name is not None else DEFAULT_SAMPLE
    if wanted not in found:
        raise SourceError(f"there is no sample `{wanted}`", fix=did_you_mean(wanted, found))
    recipe = changed(preset(), "tokenizer.name", tokenizer or DEFAULT_TOKENIZER)
    return OpenOptions(paths=(str(found[wanted]),), recipe=recipe, debug=debug)
