"""The text the built-in tokenizers are trained on: written for sftui, put together by a fixed seed.

It aims at breadth (everyday words, code, several scripts, white space), not at sense.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

ENGLISH = ["the", "be", "to", "of", "and", "in", "that", "have", "it", "for", "not", "on", "with", "he", "as", "you", "do", "at", "this", "but", "his", "by", "from", "they", "we", "say", "her", "she", "or", "an", "will", "my", "one", "all", "would", "there", "their", "what", "so", "up", "out", "if", "about", "who", "get", "which", "go", "me", "when", "make", "can", "like", "time", "no", "just", "him", "know", "take", "people", "into", "year", "your", "good", "some", "could", "them", "see", "other", "than", "then", "now", "look", "only", "come", "its", "over", "think", "also", "back", "after", "use", "two", "how", "our", "work", "first", "well", "way", "even", "new", "want", "because", "any", "these", "give", "day", "most", "us", "are", "is", "was", "were", "has", "had", "been", "being", "does", "did", "done", "doing", "made", "making", "said", "saying", "going", "went", "gone", "came", "coming", "got", "getting", "found", "find", "here", "where", "why", "very", "much", "many", "more", "less", "few", "little", "big", "small", "large", "long", "short", "high", "low", "old", "young", "early", "late", "right", "wrong", "true", "false", "same", "different", "next", "last", "each", "every", "both", "such", "own", "while", "before", "between", "during", "through", "again", "further", "once", "under", "above", "below", "against", "hello", "hi", "thanks", "thank", "please", "sorry", "yes", "okay", "sure", "help", "helpful", "assistant", "user", "system", "question", "answer", "explain", "example", "examples", "list", "write", "read", "reply", "response", "message", "messages", "summary", "summarize", "describe", "translate", "sentence", "paragraph", "word", "words", "text", "letter", "story", "poem", "title", "name", "number", "numbers", "value", "values", "result", "results", "reason", "step", "steps", "think", "thinking", "start", "stop", "begin", "end", "open", "close", "change", "add", "remove", "update", "create", "delete", "send", "receive", "show", "hide", "check", "test", "run", "call", "return", "function", "class", "method", "object", "type", "string", "integer", "float", "list", "dictionary", "array", "index", "key", "code", "program", "computer", "language", "python", "data", "file", "files", "line", "lines", "table", "row", "column", "model", "models", "train", "training", "token", "tokens", "tokenizer", "label", "labels", "loss", "mask", "masked", "batch", "learn", "learning", "teach", "teacher", "student", "school", "book", "page", "paper", "science", "history", "art", "music", "color", "red", "blue", "green", "white", "black", "water", "fire", "earth", "air", "light", "dark", "sun", "moon", "star", "stars", "sky", "sea", "river", "mountain", "city", "country", "world", "home", "house", "room", "door", "window", "garden", "tree", "flower", "animal", "dog", "cat", "bird", "fish", "horse", "food", "bread", "apple", "coffee", "tea", "milk", "sugar", "salt", "morning", "evening", "night", "today", "tomorrow", "yesterday", "week", "month", "hour", "minute", "second", "summer", "winter", "spring", "rain", "snow", "wind", "cloud", "man", "woman", "child", "children", "friend", "family", "mother", "father", "brother", "sister", "people", "person", "team", "company", "business", "market", "money", "price", "cost", "buy", "sell", "pay", "free", "doctor", "health", "body", "hand", "head", "eye", "heart", "life", "live", "lived", "living", "love", "like", "best", "better", "great", "important", "simple", "easy", "hard", "difficult", "possible", "problem", "problems", "solution", "idea", "ideas", "plan", "process", "system", "information", "capital", "Paris", "France", "London", "England", "Germany", "Berlin", "Spain", "Madrid", "Italy", "Rome", "Japan", "Tokyo", "China", "India", "America", "Europe", "Africa", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December", "energy", "speed", "force", "temperature", "degree", "degrees", "equal", "equals", "sum", "product", "average", "percent", "half", "double", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "hundred", "thousand", "million", "weather", "report", "order", "customer", "service", "email", "address", "phone", "account", "password", "login", "link", "page", "website", "internet", "search", "button", "click", "screen", "image", "video", "sound", "answer", "correct", "incorrect", "mistake", "error", "warning", "message", "debug", "safe", "secure", "private", "public", "local", "remote", "server", "client", "request", "need", "needs", "used", "using", "uses", "means", "mean", "called", "calls", "given", "gives", "takes", "taken", "makes", "keep", "keeps", "kept", "leave", "left", "bring", "brought", "hold", "held", "feel", "felt", "seem", "seems", "become", "became", "ask", "asked", "asks", "tell", "told", "understand", "understood", "remember", "forget"]

FOREIGN = {
    "de": "der die das und ist nicht ein eine mit für auf wir sie ich du haben werden können über schön größe straße heute morgen frage antwort beispiel wetter danke bitte guten tag",
    "fr": "le la les un une et est pas pour dans avec nous vous être avoir très été où déjà français réponse question exemple aujourd’hui demain merci bonjour s’il vous plaît",
    "es": "el la los una y es no para con por que nosotros está qué cómo mañana año niño pregunta respuesta ejemplo gracias buenos días español también más",
    "pt": "o a os uma e é não para com você são amanhã hoje coração pergunta resposta exemplo obrigado bom dia também mais informação",
    "it": "il lo la gli una e è non per con che noi oggi domani perché città domanda risposta esempio grazie buongiorno anche più",
    "pl": "jest nie na się że dla jak dziś jutro pytanie odpowiedź przykład dziękuję dzień dobry żółty łódź może więcej",
    "tr": "bir ve bu için ne değil çok bugün yarın soru cevap örnek teşekkürler günaydın güzel şehir nasılsın iyiyim",
    "ru": "и в не на что это как мы вы он она сегодня завтра вопрос ответ пример спасибо пожалуйста привет погода хорошо",
    "el": "και το να είναι δεν για με πως σήμερα αύριο ερώτηση απάντηση παράδειγμα ευχαριστώ καλημέρα",
    "ar": "في من على هذا ما هو هي كيف اليوم غدا سؤال جواب مثال شكرا مرحبا السلام عليكم",
    "he": "של את זה לא מה איך היום מחר שאלה תשובה דוגמה תודה שלום בוקר טוב",
    "hi": "है में और का यह क्या नहीं आज कल सवाल जवाब उदाहरण धन्यवाद नमस्ते अच्छा",
    "zh": "你好 谢谢 今天 明天 天气 很 好 问题 答案 例子 我们 你们 是 不是 什么 怎么 可以 学习 模型 数据",
    "ja": "こんにちは ありがとう 今日 明日 天気 です ます これ は 何 質問 答え 例 勉強 データ モデル",
    "ko": "안녕하세요 감사합니다 오늘 내일 날씨 질문 대답 예 우리 무엇 어떻게 공부 데이터 모델",
}

CODE = (
    "def {a}({b}, {c}=None):\n    \"\"\"Return the {d} of {b}.\"\"\"\n    if {b} is None:\n        raise ValueError(\"{b} is missing\")\n    return [{c} for {c} in {b} if {c} > {n}]\n",
    "class {A}:\n    def __init__(self, {b}: int) -> None:\n        self.{b} = {b}\n\n    def {a}(self) -> str:\n        return f\"{{self.{b}}}\"\n",
    "for i in range({n}):\n    print(i, {a}[i])\n",
    "import json\n\nwith open(\"{a}.json\", encoding=\"utf-8\") as file:\n    {b} = json.load(file)\n",
    "const {a} = ({b}) => {{\n  if (!{b}) {{ return null; }}\n  return {b}.map(({c}) => {c} * {n});\n}};\n",
    "SELECT {a}, COUNT(*) AS {b} FROM {c} WHERE {d} >= {n} GROUP BY {a} ORDER BY {b} DESC LIMIT 10;\n",
    "#!/bin/bash\nset -euo pipefail\nfor f in *.{a}; do\n\techo \"$f\" | grep -n '{b}' > {c}.txt\ndone\n",
    "{{\"role\": \"user\", \"content\": \"{a} {b}\"}}, {{\"role\": \"assistant\", \"content\": \"{c}\"}}\n",
    "<div class=\"{a}\">\n  <a href=\"https://example.org/{b}?{c}={n}\">{d}</a>\n</div>\n",
    "int main(void) {{\n    int {a} = {n};\n    printf(\"%d\\n\", {a});\n    return 0;\n}}\n",
)

SENTENCES = (
    "The {a} {b} is {c} and the {d} is {e}.", "What is the {a} of {b}?", "I think {a} can {b} the {c}, but not the {d}.",
    "Please {a} the {b} in {n} {c}.", "{A} {b} {c}; {d} {e}!", "Here is a {a} example: {b}, {c} and {d}.",
    "It's {a} that we don't {b} {c} when they're {d}.", "You said \"{a} {b}\", didn't you?", "- {a} {b}", "{n}. {A} {b} {c}",
    "## {A} {b}", "**{A}**: {b} {c} ({d})", "In {n} the {a} was {b}% {c}.", "Thanks for your {a}! I'm {b} to {c}.",
)


def lines(seed: int = 7, count: int = 1500) -> Iterator[str]:
    """The corpus, one paragraph or snippet at a time; the same for the same arguments.

    Only `Random.random` is used: its sequence is promised to stay the same between Python versions.
    """
    source = random.Random(seed)
    yield " ".join(ENGLISH)
    yield from FOREIGN.values()
    for turn in range(count):
        kind = turn % 10
        if kind < 7:
            yield " ".join(_filled(source, _pick(source, SENTENCES), ENGLISH) for _ in range(1 + turn % 3))
        elif kind == 7:
            yield _filled(source, _pick(source, CODE), ENGLISH)
        elif kind == 8:
            language = sorted(FOREIGN)[turn // 10 % len(FOREIGN)]
            words = FOREIGN[language].split()
            glue = "" if language in ("zh", "ja") else " "
            yield glue.join(_pick(source, words) for _ in range(8)) + ("。" if language in ("zh", "ja") else ".")
        else:
            yield _filled(source, "{n} + {n} = {n}\n\n\t{a}  {b}   {c}\n\n", ENGLISH)


def _pick(source: random.Random, choices: tuple[str, ...] | list[str]) -> str:
    return choices[int(source.random() * len(choices))]


def _filled(source: random.Random, form: str, words: list[str]) -> str:
    drawn = {letter: _pick(source, words) for letter in "abcde"}
    return form.format(A=drawn["a"].capitalize(), n=int(source.random() * 2000), **drawn)
