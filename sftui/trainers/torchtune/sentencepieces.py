"""torchtune's SentencePiece tokenizers: what their `tokenize_messages` encodes, piece by piece, and where it stops.

Source: torchtune 0.6.1 and main (0.7), modules/transforms/tokenizers/_sentencepiece.py SentencePieceBaseTokenizer,
_utils.py tokenize_messages_no_special_tokens, models/{gemma,llama2,mistral,phi3}/_tokenizer.py and the
_prompt_template.py beside them (gemma2 takes Gemma's, code_llama2 Llama 2's). T5's reads no conversations.

A text behind another one is encoded after a line break, whose ids are left out again, so that no space is put before
it; not where the vocabulary does not write white space. BOS opens each turn, EOS closes it, and both are trained or not
with their message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import NOWHERE, Message, Part, Piece
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loading.sentencepieces import SentencePieceEngine
from sftui.trainers.torchtune.prompt_templates import LLAMA2, MISTRAL, TemplateTurn, turns
from sftui.trainers.torchtune.special import special_id

PHI3, PHI3_COMPONENT = "phi3_mini", "torchtune.models.phi3.phi3_mini_tokenizer"
MODELS = ("gemma", "llama2", "mistral", PHI3)
FILE = "tokenizer.model"
OPTION = "tokenizer_path"
"""The option that names another file."""
USUAL = {"llama2": LLAMA2, "mistral": MISTRAL}
"""The prompt template of a builder that is told none."""
_BLANKS = (" ", "\n", "\t", "\r", "\v")
_PREFIX = "\n"
_PHI3_ROLES = ("user", "assistant", "system")
_END, _PHI3_EOS = "<|end|>", "<|endoftext|>"


def model_file(path: Any, folder: Path | None, model: str) -> Path:
    """The file that a tokenizer is built of: tokenizer.model in the folder of the open tokenizer, or the one that
    `tokenizer_path` names, which may lie there too. RecipeError where there is none."""
    if path is not None and not isinstance(path, str):
        raise RecipeError(f"{OPTION} cannot be {path!r}", fix="name a SentencePiece model, or leave it out")
    tried = [Path(path)] if path else []
    if folder is not None:
        tried.append(folder / (tried[0].name if tried else FILE))
    for file in tried:
        if os.path.isfile(file):  # a name that is none is no error there
            return file
    where, why = "", f"it reads {FILE}, but the open tokenizer is not in a folder"
    if tried:
        where, why = str(tried[-1]), "there is no such file"
    fix = f"give the folder that contains {FILE} with -t, or name the file as own.{OPTION}"
    raise RecipeError(f"torchtune's {model} tokenizer cannot be built", where=where, why=why, fix=fix)


def reading_model(
    model: str, tokenizer: LoadedTokenizer, file: Path, special: Mapping[str, int] | None
) -> LoadedTokenizer:
    """The tokenizer as torchtune makes it of a SentencePiece model; `special` are Phi-3's own tokens.

    TokenizerError where the file is none or the package that reads it is missing.
    """
    engine = SentencePieceEngine(file, special)
    eos = special[_PHI3_EOS] if special is not None else engine.eos_id
    pad = 0 if special is None else eos
    ids = {"bos": engine.bos_id, "eos": eos, "pad": pad, "unk": engine.unk_id}
    named: dict[str, Any] = {}
    for name, token in ids.items():
        named[f"{name}_id"] = token if token >= 0 else None
        named[f"{name}_token"] = engine.piece(token) if token >= 0 else None
    facts = replace(
        tokenizer.facts,
        vocab_size=max([engine.vocab_size, *(token + 1 for token in (special or {}).values())]),
        engine="sentencepiece",
        probes=0,
        transformers="",
        backend="",
        elsewhere={},
        adds_bos=False,
        adds_eos=False,
        front=(),
        back=(),
        **named,
    )
    note = f"torchtune's {model} tokenizer reads only {file.name}: the ids are those that sentencepiece produces"
    return LoadedTokenizer(facts.noting(note), engine)


@dataclass(frozen=True)
class PieceFrames:
    """What a SentencePiece tokenizer encodes of conversations and texts.

    `prompt_template` None is the builder's own. `ends_turns`: whether Phi-3's puts its EOS behind each answer, as since
    0.7.
    """

    model: str
    prompt_template: Any
    tokenizer: LoadedTokenizer
    ends_turns: bool

    @cached_property
    def eos_id(self) -> int:
        """The id that takes the last place of a row with max_seq_len."""
        return self._named("eos")[1]

    @property
    def template(self) -> Any:
        """The prompt template in force."""
        return USUAL.get(self.model) if self.prompt_template is None else self.prompt_template

    def chat(self, messages: Sequence[Message], *, joined: bool = False) -> tuple[Piece, ...]:
        """A conversation as the pieces that are encoded one by one; a role that Phi-3's does not know ends it."""
        return tuple(self._phi3(messages) if self.model == PHI3 else self._plain(messages))

    def text(self, text: str, *, add_eos: bool, add_bos: bool = True, message: int = NOWHERE) -> tuple[Piece, ...]:
        """Plain text as `encode(text, add_bos=…, add_eos=…)`, whose EOS is the model's own."""
        pieces = [self._put("bos", message, Part.BOS)] if add_bos else []
        pieces.append(Piece(text, message, Part.CONTENT))
        if add_eos:
            pieces.append(self._put("own_eos" if self.model == PHI3 else "eos", message, Part.TERMINATOR))
        return tuple(pieces)

    def numbers(self, messages: Sequence[Message]) -> Iterator[int]:
        """The places of the messages that are tokenized: a prompt template may put one into another."""
        return (turn.number for turn in turns(messages, self.template))

    def stops(self, message: Message) -> str | None:
        """Why a message stops the run once it is reached; None where it does not."""
        if self.model == PHI3 and message.role not in _PHI3_ROLES:
            return f"its Phi-3 tokenizer does not support the role {message.role!r}"
        return None

    def _plain(self, messages: Sequence[Message]) -> Iterator[Piece]:
        opens, spaced, seen = True, False, False
        for turn in turns(messages, self.template):
            if opens:
                yield self._put("bos", turn.number, Part.BOS)
            yield from self._items(turn, follows=not opens and not spaced)
            seen = seen or bool(turn.items)
            if not seen:
                what = "torchtune stops at this row: its first message has no text parts"
                raise RecipeError(what, fix="remove the row or fix it")
            spaced = turn.items[-1][0].endswith(" ") if turn.items else spaced
            opens = turn.role == "assistant"
            if opens:
                yield self._put("eos", turn.number, Part.TERMINATOR)

    def _phi3(self, messages: Sequence[Message]) -> Iterator[Piece]:
        opens = True
        for turn in turns(messages, self.template):
            number, role = turn.number, turn.role
            if role not in _PHI3_ROLES:
                return
            if opens:
                yield self._put("bos", number, Part.BOS)
            yield self._special(f"<|{role}|>", number, Part.HEADER)
            yield Piece("\n", number, Part.HEADER)
            yield from self._items(turn, follows=True)
            yield self._special(_END, number, Part.TERMINATOR)
            yield Piece("\n", number, Part.SEPARATOR)
            opens = self.ends_turns and role == "assistant"
            if opens:
                yield self._special(_PHI3_EOS, number, Part.TERMINATOR)

    def _items(self, turn: TemplateTurn, *, follows: bool) -> Iterator[Piece]:
        before, cut = self._prefix if follows else ("", 0)
        for text, part in turn.items:
            kept = text.rstrip(" ")
            if kept:
                yield Piece(kept, turn.number, part, before=before, cut=cut)

    @cached_property
    def _prefix(self) -> tuple[str, int]:
        """What a text that goes on a turn is encoded behind, and how many ids that is."""
        if not any(self.tokenizer.ids_batch(_BLANKS)):
            return "", 0
        return _PREFIX, len(self.tokenizer.ids(_PREFIX))

    def _special(self, name: str, message: int, part: Part) -> Piece:
        return Piece(name, message, part, ids=(special_id(self.tokenizer, name),))

    def _put(self, name: str, message: int, part: Part) -> Piece:
        text, token = self._named(name)
        return Piece(text, message, part, ids=(token,))

    def _named(self, name: str) -> tuple[str, int]:
        """BOS or EOS; RecipeError where the model has none: torchtune then puts -1, which is no row of an embedding."""
        facts, engine = self.tokenizer.facts, self.tokenizer.engine
        token = facts.bos_id if name == "bos" else facts.eos_id
        if name == "own_eos" and isinstance(engine, SentencePieceEngine):
            token = engine.eos_id
        if token is None or token < 0:
            raise RecipeError(
                f"the SentencePiece model has no {'BOS' if name == 'bos' else 'EOS'}",
                why=f"torchtune's {self.model} tokenizer writes -1 for it in every row, and no model has that id",
                fix="choose another with render.template",
            )
        return self.tokenizer.piece(token), token
