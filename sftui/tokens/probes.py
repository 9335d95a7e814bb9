"""The probe strings: what a serialised backend is compared on with AutoTokenizer.

They aim at where loaders differ: leading and repeated white space, new lines, digits, contractions,
scripts, bytes without a token, special tokens typed as text, and long input.
"""

from __future__ import annotations

from collections.abc import Iterable

BASE = (
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", " \n", "\n ", "\u00a0", "\u3000", "\u200b", "\u2028",
    "x", " x", "  x", "   x", "x ", "x  ", "\nx", "\n\nx", "x\n", "x\n\n", "\tx", " \tx", "x \n y", "x\r\ny", "x\ry",
    "Hello, world!", "hello WORLD Hello", "  two  spaces  inside  ", "a.b.c", "a...b", "!!!", "?!", "()[]{}<>", "-- —–",
    "It's we'll they've I'd don't CAN'T O'Neill", "naïve café Ångström ﬁne ½ ²", "e\u0301 vs \u00e9", "\u1e9b\u0323",
    "0 1 12 123 1234 12345 1,234.56 1e-10 0x1F", "2026-11-20T23:59:59Z", "３４５ ٣٤٥ 三百",
    "https://example.org/a/b?c=d&e=%20f#g", "name@example.org", "C:\\dir\\file.txt", "/usr/bin/env -S python3",
    "def f(x):\n    return [y for y in x if y > 0]\n", "if (a && b) {\n\t\treturn c;\n\t}\n", "\tfor i in x:\n\t\tpass",
    '{"a": [1, 2.5, null], "b": "c\\n"}', "SELECT * FROM t WHERE x >= 1;", "<div class=\"a\">b</div>", "```py\nx = 1\n```",
    "$\\frac{a}{b} \\leq \\infty$", "a_b __init__ camelCase PascalCase SCREAMING_CASE kebab-case",
    "你好，世界。今天天气很好！", "日本語のテキストです。", "한국어 문장입니다.", "สวัสดีครับ", "Привет, мир", "Γειά σου Κόσμε",
    "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "mixed 中文 and English 日本", "İstanbul ıI iİ", "Straße ẞ",
    "😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈 🇩🇪", "✂️ ☕", "text 😀 more", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐍈", "\U000e0001", "\ufffd", "\ufeffBOM",
    "\u202eabc\u202c", "\u0000", "a\u0000b", "\u0007", "\x1b[31m", "\x7f", "▁", "▁x", " ▁ x", "Ġ", "Ġx Ċ", "<0x0A>", "##x",
    "a" * 300, "ab " * 200, "\n" * 100, " " * 100, "=" * 80, "😀" * 40, "1" * 60,
    "The quick brown fox jumps over the lazy dog. " * 60,
    "user\nWhat is 2+2?\nassistant\n4", "### Instruction:\nDo it.\n\n### Response:\nDone.", "[INST] Hi [/INST] Hello",
)
MARKERS = ("<s>", "</s>", "<unk>", "<pad>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<bos>", "<eos>", "[CLS]", "[SEP]")
FORMS = ("{0}", "a{0}b", "a {0} b", " {0}", "{0}\n x", "{0}  x", "x  {0}", "{0}{0}", "{0}user\n hi{1}\n{0}assistant\n  yes{1}")
SPECIALS_TRIED = 24
"""How many special tokens are tried at most; they come in families of hundreds of reserved ones."""


def probe_strings(special: Iterable[str]) -> tuple[str, ...]:
    """The probe strings for a tokenizer whose special or added tokens are `special`."""
    tokens = [token for token in dict.fromkeys(special) if token][:SPECIALS_TRIED]
    end = tokens[-1] if tokens else ""
    typed = [form.format(token, end) for token in tokens for form in FORMS]
    marked = [form.format(token, token) for token in MARKERS for form in FORMS[:4]]
    return tuple(dict.fromkeys([*BASE, *typed, *marked]))
