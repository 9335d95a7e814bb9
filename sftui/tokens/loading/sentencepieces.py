"""A SentencePiece .model file as what encodes, for trainers that read one without transformers.

The ids are the `sentencepiece` package's own (no dependency of sftui, as few need it), in a process of its own that
`ask_sentencepiece` describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.runs import Flat, flat
from sftui.tokens.loaded import TextEncoding
from sftui.tokens.loading.environments import own_environment
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.process import AskedEngine, TokenizerProcess
from sftui.tokens.surface import Decoding

PACKAGE = "sentencepiece"
LARGEST = 64 << 20
"""Bytes of a model file; one of 256,000 pieces has 5 million."""
_POINTER = b"version https://git-lfs"


class SentencePieceEngine(AskedEngine):
    """The pieces of a file, and `extra` tokens next to them that no text is encoded to (name → id).

    TokenizerError where the file is none, or the package is not installed.
    """

    reads_special = False
    decoding = Decoding(space="▁", byte_fallback=True, dummy_prefix=True, normalizes=True)

    def __init__(self, path: Path, extra: Mapping[str, int] | None = None) -> None:
        _check(path)
        self._model = _SentencePieceProcess(path)
        loaded = self._model.load()
        self.vocab_size: int = loaded["vocab_size"]
        self.bos_id: int = loaded["bos"]
        self.eos_id: int = loaded["eos"]
        self.unk_id: int = loaded["unk"]
        self._extra = dict(extra or {})
        self._special = {int(i): str(piece) for i, piece in loaded["special"]}
        self._special.update({token: name for name, token in self._extra.items()})
        super().__init__(self._model, self._special)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        """Ids and offsets; nothing is ever put around a text."""
        rows = self._model.rows(texts, placed=True)
        self.fetch({token for ids, _ in rows for token in ids})
        return [
            TextEncoding(flat(ids), *(tuple(one[side] for one in offsets) for side in (0, 1))) for ids, offsets in rows
        ]

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        return [flat(ids) for ids, _ in self._model.rows(texts, placed=False)]

    def token_id(self, piece: str) -> int | None:
        if piece in self._extra:
            return self._extra[piece]
        piece.encode("utf-8")
        return super().token_id(piece)

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return {token: (name, True) for token, name in self._special.items()}


class _SentencePieceProcess(TokenizerProcess):
    """The process that has loaded the file."""

    endless = "check the file: a normal file does not take this long"
    script = Path(__file__).with_name("ask_sentencepiece.py")

    def __init__(self, path: Path) -> None:
        super().__init__(own_environment(), Location(str(path), "file", str(path), path))

    def rows(self, texts: Sequence[str], *, placed: bool) -> list[list[Any]]:
        """Texts as `[ids, offsets or None]`."""
        for text in texts:
            text.encode("utf-8")  # lone surrogates are refused, as by the other engines
        return self.ask({"encode": list(texts), "placed": placed})["rows"] if texts else []

    def _wanted(self) -> dict[str, Any]:
        return {"path": self.place.argument}

    def _refused(self, answer: Mapping[str, Any]) -> TokenizerError:
        why = str(answer["error"][0]["text"]).splitlines()[0][:200] or "it cannot be parsed"
        fix = "download it again"
        return TokenizerError("this is not a SentencePiece model", where=self.place.argument, why=why, fix=fix)


def _check(path: Path) -> None:
    """TokenizerError for what need not be tried."""
    unread = partial(TokenizerError, "the SentencePiece model cannot be read", where=str(path))
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            begins = file.read(len(_POINTER))
    except OSError as error:
        raise unread(why=error.strerror or str(error)) from error
    if begins == _POINTER:
        raise unread(why="it is a Git LFS pointer, not the file itself", fix="run `git lfs pull` in that folder")
    if size > LARGEST:
        raise TokenizerError(
            "the SentencePiece model is not read", where=str(path), why=f"it is larger than {LARGEST >> 20} MB"
        )
    if find_spec(PACKAGE) is None:
        why = f"the package that computes its ids is not installed: {PACKAGE}"
        raise unread(why=why, fix=f"pip install {PACKAGE}")
