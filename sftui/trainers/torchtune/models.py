"""torchtune's model tokenizers: which pieces a conversation is encoded in, without any jinja.

Source: torchtune 0.6.1, torchtune/models/{qwen2,qwen2_5,llama3}/_tokenizer.py `tokenize_messages`,
modules/transforms/tokenizers/_tiktoken.py. Those over a SentencePiece model stand in `sentencepieces`.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import NOWHERE, Message, Part, Piece
from sftui.templates import ChatTemplate
from sftui.text import visible
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loaded import FastEngine
from sftui.trainers.remembering import last_asked
from sftui.trainers.torchtune import sentencepieces
from sftui.trainers.torchtune.prompt_templates import CHATML, around, message_texts, short_name
from sftui.trainers.torchtune.special import OPTION, OwnSpecials, special_id, special_tokens

JINJA = "hf"
"""HuggingFaceModelTokenizer: tokenizer.json as it is, and its chat template."""
MODELS = ("qwen2_5", "qwen2", "llama3", *sentencepieces.MODELS, JINJA)
UNUSED = ("t5", "clip")
"""Tokenizers that no dataset of a fine-tuning recipe can call: they read no messages."""
KEPT_FRAMES = 4096
"""Messages by place and role of which it is remembered what stands around them."""
LONGEST_TEXT, LONGEST_RUN = 400_000, 25_000
"""Characters that tiktoken is given at once, and of one kind (blank or not) in a row."""
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS = {"qwen2_5": _WORDS % "", "qwen2": _WORDS % "", "llama3": _WORDS % "{1,3}"}
"""How each tokenizer cuts text before BPE, whatever tokenizer.json says: torchtune reads vocabulary and merges
alone."""


def model_of(template: str, tokenizer: LoadedTokenizer) -> str:
    """The model tokenizer that render.template names, or the one whose special tokens the tokenizer has."""
    kind, _, name = template.partition("/")
    if kind == "torchtune" and name in MODELS:
        return name
    if kind == "torchtune":
        unused = "it does not read messages, so no fine-tuning recipe can use it"
        why = unused if name in UNUSED else "it is not a torchtune tokenizer that sftui supports"
        what = f"sftui does not model torchtune's {name} tokenizer"
        raise RecipeError(what, why=why, fix=f"choose one of {', '.join(MODELS)}")
    if template != "tokenizer":
        what = "torchtune renders with its own code, not with a chat template"
        raise RecipeError(what, fix=f"set render.template to torchtune/{MODELS[0]}")
    if tokenizer.token_id("<|start_header_id|>") is not None:
        return "llama3"
    if tokenizer.token_id("<|im_start|>") is not None:
        return "qwen2_5" if tokenizer.token_id("<tool_call>") is not None else "qwen2"
    raise RecipeError(
        "sftui does not know which of torchtune's tokenizers this is",
        why="its special tokens do not match any that sftui models",
        fix=f"set render.template to one of {', '.join('torchtune/' + name for name in MODELS)}",
    )


def undrawn(tokenizer: LoadedTokenizer, folder: Path | None) -> LoadedTokenizer:
    """The same without BPE dropout, of which torchtune's own tokenizers read nothing (_utils.py, BPE merges as they
    stand)."""
    from tokenizers import models

    from sftui.tokens.release import read_backend

    drawn, engine = tokenizer.facts.random, tokenizer.engine
    if folder is not None and (file := folder / "tokenizer.json").is_file():
        backend = read_backend(file, tokenizer.facts.name)
        if isinstance(backend.model, models.BPE):
            backend.model.dropout = None
        engine = FastEngine(backend)
    notes = tuple(note for note in tokenizer.facts.notes if drawn not in note)
    return LoadedTokenizer(replace(tokenizer.facts, random="", notes=notes), engine)


def reading_files(
    model: str, tokenizer: LoadedTokenizer, special_path: Any = None, folder: Path | None = None, model_path: Any = None
) -> LoadedTokenizer:
    """The tokenizer as torchtune makes it of vocabulary and merges: with the model's own cutting of text, and with its
    own special tokens or those of `special_path` (see `special.special_tokens`). One of a SentencePiece model is made
    of that (`model_path`, else the one in `folder`).

    The same one where tokenizer.json says the same already; RecipeError where it is no byte-level BPE.
    """
    from tokenizers import models

    if model == JINJA:
        return tokenizer
    if model in sentencepieces.MODELS:
        own = special_tokens(model, tokenizer, special_path, folder) if model == sentencepieces.PHI3 else None
        file = sentencepieces.model_file(model_path, folder, model)
        return sentencepieces.reading_model(model, tokenizer, file, own)
    engine = tokenizer.engine
    if not isinstance(engine, FastEngine) or not isinstance(engine.backend.model, models.BPE):
        why, fix = "it needs a byte-level BPE with vocabulary and merges", "choose another with render.template"
        raise RecipeError(f"torchtune's {model} tokenizer cannot be built from this one", why=why, fix=fix)
    special = json.dumps(special_tokens(model, tokenizer, special_path, folder))
    return _of_merges(model, tokenizer, engine.backend, special)


@last_asked
def _of_merges(model: str, tokenizer: LoadedTokenizer, backend: Any, own: str) -> LoadedTokenizer:
    """The same of a backend's vocabulary and merges, and of special tokens as JSON. All of the vocabulary is written
    and read for it: 11 ms for a small one, and each choice of a knob that is tried asks for it."""
    from tokenizers import Tokenizer

    special, llama = json.loads(own), model == "llama3"
    cut = json.loads(backend.pre_tokenizer.__getstate__()) if backend.pre_tokenizer is not None else {}
    first = cut.get("pretokenizers", [{}])[0]
    same_cut = first.get("pattern") == {"Regex": SPLITS[model]} and not backend.model.ignore_merges
    added = backend.get_added_tokens_decoder()
    trimmed = any(token.lstrip or token.rstrip or token.single_word or token.normalized for token in added.values())
    if not llama and same_cut and not trimmed and {token.content: i for i, token in added.items()} == special:
        return tokenizer
    whole = json.loads(backend.to_str())
    whole.update(added_tokens=[], normalizer=None, post_processor=None)
    whole["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": SPLITS[model]}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ],
    }
    whole["model"]["ignore_merges"] = llama
    made = OwnSpecials(FastEngine(Tokenizer.from_str(json.dumps(whole))), special)
    facts = tokenizer.facts
    named = {"bos_id": facts.bos_token, "eos_id": facts.eos_token, "pad_id": facts.pad_token}
    ids: dict[str, Any] = {name: made.token_id(token) for name, token in named.items() if token is not None}
    facts = replace(facts, **{name: token_id for name, token_id in ids.items() if token_id is not None})
    plain = [token.content for token in added.values() if token.content not in special]
    if plain:
        names = ", ".join(visible(name) for name in plain[:4])
        rest = f" and {len(plain) - 4:,} more" if len(plain) > 4 else ""
        facts = facts.noting(
            f"torchtune reads {names}{rest} as plain text, because its {model} tokenizer has its own special tokens"
            f" ({OPTION} names others)"
        )
    return LoadedTokenizer(facts, made)


def pad_id(model: str, tokenizer: LoadedTokenizer) -> int:
    """What padded_collate_sft pads with: the model tokenizer's pad_id."""
    if model in sentencepieces.MODELS:
        return tokenizer.facts.pad_id or 0
    own = {JINJA: tokenizer.facts.pad_token or "pad token", "llama3": "<|finetune_right_pad_id|>"}
    return special_id(tokenizer, own.get(model, "<|endoftext|>"))


class Frames:
    """What a model's tokenizer puts around the contents of messages, worked out once for each role and place.

    `template` is render.template, `prompt_template` torchtune's own.
    """

    def __init__(self, template: str, prompt_template: Any, tokenizer: LoadedTokenizer) -> None:
        self._named, self._template, self._tokenizer = template, prompt_template, tokenizer
        self._known: dict[tuple[int, str, bool, bool, bool], tuple[Sequence[Piece], Sequence[Piece]]] = {}

    @cached_property
    def model(self) -> str:
        """The model whose tokenizer it is."""
        return model_of(self._named, self._tokenizer)

    @cached_property
    def eos_id(self) -> int:
        """The id that ends every row."""
        own = {JINJA: self._tokenizer.facts.eos_token or "EOS", "llama3": "<|end_of_text|>"}
        return special_id(self._tokenizer, own.get(self.model, "<|im_end|>"))

    def chat(self, messages: Sequence[Message], *, joined: bool = False) -> tuple[Piece, ...]:
        """A conversation as the pieces that `tokenize_messages` encodes one by one, EOS last.

        `joined`: what stands before and behind the contents of a message is one piece each, with its ids.
        """
        first, end = self._ends
        pieces, last = [*first], len(messages) - 1
        chatml = short_name(self._template) == CHATML
        for number, message in enumerate(messages):
            texts, role = message_texts(message), message.role
            bare = chatml and number == last and role == "assistant" and not "".join(texts)
            before, behind = self._around(number, role, number == last, bare, joined)
            pieces += before
            for text in texts:
                pieces += self._text(text, number, Part.CONTENT)
            pieces += behind
        return (*pieces, *end)

    def text(self, text: str, *, add_eos: bool, add_bos: bool = True, message: int = NOWHERE) -> tuple[Piece, ...]:
        """Plain text as `encode(text, add_bos=…, add_eos=…)`; Llama 3 makes nothing at all of an empty text."""
        if self.model == JINJA:
            what = "sftui does not model plain text with HuggingFaceModelTokenizer"
            raise RecipeError(what, fix="choose another with render.template")
        tokenizer, llama = self._tokenizer, self.model == "llama3"
        if not llama:
            body = [Piece(unicodedata.normalize("NFC", text), message, Part.CONTENT)]
        elif not text:
            return ()
        else:
            bos = [_inserted("<|begin_of_text|>", message, Part.BOS, tokenizer)] if add_bos else []
            body = [*bos, *_plain(text, message, Part.CONTENT, tokenizer)]
        if add_eos:
            body.append(_inserted("<|end_of_text|>" if llama else "<|im_end|>", message, Part.TERMINATOR, tokenizer))
        return tuple(body)

    @cached_property
    def _ends(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """What stands around a whole conversation."""
        if self.model != "llama3":
            return (), ()
        bos = _inserted("<|begin_of_text|>", NOWHERE, Part.BOS, self._tokenizer)
        return (bos,), (_inserted("<|end_of_text|>", NOWHERE, Part.INJECTED, self._tokenizer),)

    def _text(self, text: str, number: int, part: Part) -> Sequence[Piece]:
        """A text as it is encoded alone."""
        if self.model == "llama3":
            return _plain(text.strip(), number, part, self._tokenizer)
        return (Piece(unicodedata.normalize("NFC", text), number, part),)

    def _around(
        self, number: int, role: str, last: bool, bare: bool, joined: bool
    ) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """The pieces before and behind the contents of a message; `bare`: the template puts nothing behind them."""
        key = (number, role, last, bare, joined)
        found = self._known.get(key)
        if found is None:
            found = self._before(number, role), self._behind(number, role, last, bare)
            if joined:
                found = self._joined(found[0]), self._joined(found[1])
            if len(self._known) >= KEPT_FRAMES:
                self._known.clear()
            self._known[key] = found
        return found

    def _before(self, number: int, role: str) -> Sequence[Piece]:
        tokenizer = self._tokenizer
        own = self._from_template(0, role, number, Part.HEADER)
        if self.model == "llama3":
            return (
                _inserted("<|start_header_id|>", number, Part.HEADER, tokenizer),
                *_plain(role.strip(), number, Part.HEADER, tokenizer),
                _inserted("<|end_header_id|>", number, Part.HEADER, tokenizer),
                Piece("\n\n", number, Part.HEADER),
                *own,
            )
        if role == "ipython":
            if self.model == "qwen2_5":
                raise RecipeError("sftui does not model torchtune's ipython messages", fix="remove them")
            return own
        header = _inserted("<|im_start|>", number, Part.HEADER, tokenizer), Piece(f"{role}\n", number, Part.HEADER)
        return (*header, *own)

    def _behind(self, number: int, role: str, last: bool, bare: bool) -> Sequence[Piece]:
        """The template's text and the end of the message; the last assistant message has EOS for its end."""
        tokenizer = self._tokenizer
        found = [] if bare else [*self._from_template(1, role, number, Part.SEPARATOR)]
        if self.model == "llama3":
            return (*found, _inserted("<|eot_id|>", number, Part.TERMINATOR, tokenizer))
        end = _inserted("<|im_end|>", number, Part.TERMINATOR, tokenizer)
        if role != "ipython" and (role != "assistant" or not last):
            found += [end, Piece("\n", number, Part.SEPARATOR)]
        return (*found, end) if last else found

    def _from_template(self, side: int, role: str, number: int, part: Part) -> Sequence[Piece]:
        """What the prompt template puts before (0) or behind (1) the contents."""
        if self.model != "llama3" and short_name(self._template) == CHATML:
            why = "they write <|im_start|> themselves"
            what = "torchtune rejects ChatMLTemplate with the Qwen tokenizers"
            raise RecipeError(what, why=why, fix="remove prompt_template")
        text = around(self._template, role)[side]
        return self._text(text, number, part) if text else ()

    def _joined(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """The pieces as one, with the ids of all."""
        if not pieces:
            return ()
        ids = [self._tokenizer.ids(piece.text) if piece.ids is None else piece.ids for piece in pieces]
        text, first = "".join([piece.text for piece in pieces]), pieces[0]
        return (Piece(text, first.message, first.part, ids=tuple(chain.from_iterable(ids))),)


def jinja_pieces(messages: Sequence[Message], tokenizer: LoadedTokenizer, template: ChatTemplate) -> tuple[Piece, ...]:
    """What each message adds to the ids of the conversation rendered up to it; the last one with the generation
    prompt."""
    pieces: list[Piece] = []
    ids_before, text_before = 0, ""
    turns = [{"role": message.role, "content": message_texts(message)[0]} for message in messages]
    facts = tokenizer.facts
    for number in range(len(turns)):
        prompts = number == len(turns) - 1
        text = template.text(turns[: number + 1], add_generation_prompt=prompts, variables=facts.template_tokens)[0]
        ids = tokenizer.ids(text, add_special_tokens=facts.adds_bos)
        if facts.bos_id is not None and not facts.adds_bos:
            ids = (facts.bos_id, *ids)
        added = text.removeprefix(text_before) if text.startswith(text_before) else ""
        pieces.append(Piece(added, number, Part.CONTENT, ids=ids[ids_before:]))
        ids_before, text_before = len(ids), text
    if facts.eos_token is not None:
        pieces.append(_inserted(facts.eos_token, NOWHERE, Part.INJECTED, tokenizer))
    return tuple(pieces)


def _inserted(text: str, message: int, part: Part, tokenizer: LoadedTokenizer) -> Piece:
    return Piece(text, message, part, ids=(special_id(tokenizer, text),))


def _plain(text: str, message: int, part: Part, tokenizer: LoadedTokenizer) -> list[Piece]:
    """Text that tiktoken encodes: cut where a run is too long, and the texts of special tokens taken as plain text."""
    engine = tokenizer.engine
    own = engine if isinstance(engine, OwnSpecials) else None
    return [Piece(one, message, part, ids=own.plain(one) if own is not None else None) for one in _cut(text)]


def _cut(text: str) -> Sequence[str]:
    if len(text) <= LONGEST_RUN:  # as nearly every text
        return (text,) if text else ()
    return [run for at in range(0, len(text), LONGEST_TEXT) for run in _short_runs(text[at : at + LONGEST_TEXT])]


def _short_runs(text: str) -> list[str]:
    found, start, run, blank = [], 0, 0, text[0].isspace()
    for at, char in enumerate(text):
        if char.isspace() != blank:
            run, blank = 1, not blank
            continue
        run += 1
        if run > LONGEST_RUN:
            found.append(text[start:at])
            start, run = at, 1
    return [*found, text[start:]]
