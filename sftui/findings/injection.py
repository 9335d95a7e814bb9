"""Control tokens and media placeholders that stand inside a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sftui.findings.checks import Checks
from sftui.findings.context import Context
from sftui.findings.look import Look
from sftui.findings.model import Finding
from sftui.model import Part

MEDIA = (
    "<image>",
    "<|image|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|audio_pad|>",
    "<image_soft_token>",
    "<audio_soft_token>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<video>",
    "<audio>",
    "[IMG]",
    "<|AUDIO|>",
    "<fake_token_around_image>",
    "<start_of_image>",
)
# Marks that data is meant to hold: reasoning, tools, code, and fill-in-the-middle.
_WANTED = (
    "think",
    "tool",
    "function",
    "python",
    "code",
    "fim",
    "reason",
    "thought",
    "ref",
    "box",
    "quad",
    "object",
    "repo",
    "file",
    "channel",
)
_MEDIA_COLUMNS = ("images", "image", "videos", "video", "audios", "audio")


def media_ids(context: Context) -> frozenset[int]:
    """The ids of media placeholders that this tokenizer has."""
    token_id = context.tools.tokenizer.token_id
    return context.once("media", lambda: frozenset(i for name in MEDIA if (i := token_id(name)) is not None))


def typed(look: Look) -> Iterator[Finding]:
    """INJ001 and INJ002: the first place of each; the token's text must stand in the message's own data."""
    if not look.chat or not look.known:
        return
    special, parts, owners, ids = look.tokens.special, look.tokens.parts, look.tokens.messages, look.tokens.input_ids
    media = media_ids(look.context)
    if media and not media.isdisjoint(ids) and not _has_media(look):
        for i, one in enumerate(ids):
            if (
                one in media
                and parts[i] is Part.CONTENT
                and owners[i] >= 0
                and look.tokens.pieces[i] in look.text_of(look.messages[owners[i]])
            ):
                yield look.finding(
                    "INJ002",
                    f"{look.token(i)} is typed in message {owners[i]}, and the row has no media",
                    message=owners[i],
                    tokens=(max(0, i - 2), i + 3),
                )
                return
    if True not in special:
        return
    i = -1
    while True:
        try:
            i = special.index(True, i + 1)
        except ValueError:
            return
        if parts[i] is not Part.CONTENT or owners[i] < 0 or ids[i] in media:
            continue
        piece = look.tokens.pieces[i]
        message = look.messages[owners[i]]
        if piece not in str(message.content) or any(word in piece.lower() for word in _WANTED):
            continue
        count = sum(1 for j in range(i, len(ids)) if special[j] and parts[j] is Part.CONTENT and owners[j] == owners[i])
        more = f" ({count} control tokens in this message)" if count > 1 else ""
        yield look.finding(
            "INJ001",
            f"{look.token(i)} is typed in message {owners[i]} of the {look.roles[owners[i]]} and becomes a control token{more}",
            message=owners[i],
            tokens=(max(0, i - 2), min(len(ids), i + 4)),
        )
        return


def _has_media(look: Look) -> bool:
    data = look.inspection.row.data
    if data is not None and any(data.get(column) for column in _MEDIA_COLUMNS):
        return True
    return any(
        isinstance(part, Mapping) and part.get("type") not in (None, "text")
        for message in look.messages
        if isinstance(message.content, (list, tuple))
        for part in message.content
    )


CHECKS = Checks(labelled=(typed,))
