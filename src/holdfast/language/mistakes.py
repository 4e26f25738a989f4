"""Mistakes in single words and characters, in the user's words."""

from __future__ import annotations

from typing import Final

from holdfast.errors import Diagnostics, Span, shortened
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Mistake:
    """A diagnostic without a place."""

    code: str
    message: str
    help: str | None = None
    notes: tuple[str, ...] = ()

    def report(self, diagnostics: Diagnostics, span: Span) -> None:
        """Collect it at a place."""
        diagnostics.error(self.code, self.message, span, notes=self.notes, help=self.help)


OPEN_STRING: Final = Mistake(
    "E0102", "this string has no closing quote on its line", 'end it with "; a line end inside a string is written \\n'
)
OPEN_QUOTED: Final = Mistake(
    "E0102",
    "this quoted name has no closing quote on its line",
    "end it with '; a quote inside a quoted name is doubled",
)
OPEN_COMMENT: Final = Mistake("E0103", "this comment is never closed", "close it with */")


def no_such_character(character: str) -> Mistake:
    """A character that starts no token."""
    if character == "\\":
        return Mistake("E0104", "`\\` has no meaning outside strings")
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    return Mistake("E0104", f"{shown} has no meaning here", _CHARACTER_HELP.get(character))


_CHARACTER_HELP: Final = {
    "“": 'write strings in straight quotes: "…"',
    "”": 'write strings in straight quotes: "…"',
    "‘": "write quoted names in straight quotes: '…'",
    "’": "write quoted names in straight quotes: '…'",
    "?": "a variable is written x or ?x",
}


def bad_number(text: str, help: str) -> Mistake:
    """A malformed number."""
    return Mistake("E0105", f"`{text}` is not a number", help)


def bare_point(meant: str) -> str:
    """The hint for a point with digits on one side only."""
    return f"a float has digits on both sides of its point: {meant}"


def number_help(text: str) -> str:
    """The hint for digits followed by letters."""
    lowered = text.lower()
    if lowered.startswith("0x"):
        return "hexadecimal digits follow 0x, as in 0xff"
    if lowered.startswith("0b"):
        return "binary digits follow 0b, as in 0b101"
    if "_" in text:
        return f"write the digits together: {text.replace('_', '')}"
    if not text[0].isascii():
        return "digits are 0 to 9"
    digits = text[: next(i for i, c in enumerate(text) if c not in "0123456789.")]
    return f"separate {digits} and {text[len(digits) :]}, or begin the name with a letter"


def number_too_large(text: str, limit: str, hint: str | None) -> Mistake:
    """A literal beyond the range of its type."""
    return Mistake("E0106", f"{shortened(text, 40)} does not fit: {limit}", hint)


def bad_escape(escape: str) -> Mistake:
    """An unknown escape in a string."""
    if len(escape) > 2 and 0xD800 <= int(escape[2:], 16) < 0xE000:
        return lone_surrogate("E0107", f"`{escape}`")
    return Mistake(
        "E0107",
        f"`{escape}` is not an escape",
        "a backslash is written \\\\",
        ("the escapes are \\n \\t \\r \\\" \\\\ \\' \\uXXXX \\UXXXXXXXX",),
    )


def lone_surrogate(code: str, shown: str) -> Mistake:
    """A lone UTF-16 surrogate, which UTF-8 cannot encode."""
    return Mistake(
        code, f"{shown} is half a surrogate pair, not a character", "write the character itself, or \\UXXXXXXXX"
    )


_ALSO: Final = {"||": ", and strings are joined by cat(s, t)", "=>": ", and a rule `head :- body`"}


def _spelled(wrong: str, right: str, meaning: str) -> Mistake:
    help = f"{meaning} is written `{right}`{_ALSO.get(wrong, '')}"
    return Mistake("E0108", f"`{wrong}` is not part of the language", help)


_MEANINGS: Final = {
    "=": ("EQUALS", "equality", ("==", ":=")),
    "!=": ("COMPARE", "inequality", ("<>", "\\=", "=\\=", "\\==", "≠")),
    "<=": ("COMPARE", "less or equal", ("=<", "≤")),
    ">=": ("COMPARE", "greater or equal", ("=>", "≥")),
    "!": ("NOT", "negation", ("\\+", "~", "¬")),
    ",": ("COMMA", "“and”", ("&&", "&", "∧")),
    ";": ("SEMICOLON", "“or”", ("||", "∨")),
    ":-": ("IF", "“if”", ("<-", "←")),
}
# A foreign spelling: its mistake, and the token to continue with.
SPELLINGS: Final[dict[str, tuple[Mistake, str, str]]] = {
    wrong: (_spelled(wrong, right, meaning), type, right)
    for right, (type, meaning, spellings) in _MEANINGS.items()
    for wrong in spellings
}
