"""The reference: the tokenizer as `transformers.AutoTokenizer` loads it, and its facts.

What loads it is `autotokenizer`, a script that any Python can run; here is what its answer means to sftui.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sftui.tokens.facts import TokenizerFacts, named_roles
from sftui.tokens.loading.locate import Location, object_in, read_json

_AS_REPORTED = (
    *("class_name", "is_fast", "vocab_size", "padding_side", "truncation_side", "model_max_length"),
    *("split_special_tokens", "random"),
)
GGUF_READER = str(Path(__file__).with_name("gguf.py"))


def load_request(place: Location) -> dict[str, Any]:
    """What `autotokenizer` is asked to load."""
    return {
        "kind": place.kind,
        "argument": place.argument,
        "revision": place.revision,
        "gguf": GGUF_READER,
        "named": place.loader,
    }


def read_facts(reported: Mapping[str, Any], place: Location) -> TokenizerFacts:
    """The facts of what `autotokenizer.facts` reported of a tokenizer."""
    around = tuple(reported["front"]), tuple(reported["back"])
    return TokenizerFacts(
        name=place.name,
        **{field: reported[field] for field in _AS_REPORTED},
        **named_roles(dict(reported["special_tokens"]), reported["named_ids"], *around),
        special_lists={name: tuple(tokens) for name, tokens in reported["special_lists"].items()},
        chat_templates=dict(reported["chat_templates"]),
        engine="tokenizers" if reported["is_fast"] else "transformers",
        commit=place.commit,
        transformers=reported["versions"].get("transformers", ""),
    )


def config_of(folder: Path | None) -> dict[str, Any]:
    """tokenizer_config.json of a folder, or {} where it is absent or broken (AutoTokenizer says so itself)."""
    try:
        return object_in(folder, "tokenizer_config.json")
    except (OSError, ValueError):
        return {}


MOST_DOUBLED = 100
"""So many ids of several tokens are kept at most."""
Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""What answers requests of `autotokenizer`."""


def doubled(reported: Mapping[str, Any], place: Location, ask: Ask) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The ids that several tokens have, or have in the files and not once loaded, with those tokens, by id.

    Two words of a vocabulary keep one id. Of an added token `tokenizers` reads the text alone: where its id is taken it
    gets the next free one (tokenizers 0.23.3, AddedVocabulary.add_tokens). `reported` is what `autotokenizer.facts`
    told; TokenizerError where what is asked does not answer.
    """
    found: dict[int, dict[str, None]] = {token: dict.fromkeys(words) for token, words in reported["doubled"]}
    declared = [*dict.fromkeys(_declared(place))]
    ids = ask({"ids": [content for content, _ in declared]})["ids"] if declared else ()
    moved = [one for one, token in zip(declared, ids) if token != one[1]]
    pieces = ask({"pieces": [token for _, token in moved]})["pieces"] if moved else ()
    for (content, token), piece in zip(moved, pieces):
        if piece is not None:
            found.setdefault(token, {piece: None})[content] = None
    return tuple((token, tuple(words)) for token, words in sorted(found.items()))[:MOST_DOUBLED]


def _declared(place: Location) -> Iterator[tuple[str, int]]:
    """The added tokens of a tokenizer's files, with the ids that stand there."""
    try:
        for one in read_json(place.json)["added_tokens"] if place.json is not None else ():
            yield str(one["content"]), int(one["id"])
        for token, one in config_of(place.folder).get("added_tokens_decoder", {}).items():
            yield str(one["content"]), int(token)
        more = place.folder / "added_tokens.json" if place.folder is not None else None
        for content, token in read_json(more).items() if more is not None and more.is_file() else ():
            yield str(content), int(token)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # AutoTokenizer read them in a way of its own
