"""Rendered → Tokens, and the tokenizers that do it: loaded as AutoTokenizer would, and proven so."""

from sftui.tokens.encode import prompt_text, surface, surfaces, texts_of, token_text, tokenize
from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.loaded import LoadedTokenizer, TextEncoding, ToEncode
from sftui.tokens.loading.load import load_tokenizer

__all__ = [
    "LoadedTokenizer",
    "TextEncoding",
    "ToEncode",
    "TokenizerFacts",
    "load_tokenizer",
    "prompt_text",
    "surface",
    "surfaces",
    "texts_of",
    "token_text",
    "tokenize",
]
