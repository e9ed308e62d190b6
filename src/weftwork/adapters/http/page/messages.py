"""The texts of the pages, from one catalogue per language (`languages/*.toml`)."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

DEFAULT_LANGUAGE: Final = "en"
NAME: Final = re.compile(r"\{([a-z]{1,20})\}")
"""A name in a text, for which the text of something else is put in."""
_SUFFIX: Final = ".toml"
_FOLDER: Final = resources.files("weftwork.adapters.http.page").joinpath("languages")


class UnknownLanguage(Exception):
    """There is no catalogue for a language. The message names the languages that have one."""


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a language writes numbers, dates and lists."""

    name: str
    direction: str
    thousands: str
    decimal: str
    months: tuple[str, ...]
    date: str
    time: str
    list: str
    last: str = msgspec.field(name="and")


class Messages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The catalogue of one language."""

    language: Language
    counts: dict[str, tuple[str, str]]
    texts: dict[str, str]
    rules: dict[str, str] = {}
    tag: str = DEFAULT_LANGUAGE
    """The value of the attribute `lang`."""

    def __call__(self, key: str, /, **values: str) -> str:
        """The text with this key. `values` replace the names in braces."""
        return replace_names(self.texts[key], values)

    def find(self, key: str) -> str | None:
        return self.texts.get(key)

    def count(self, key: str, n: int, **values: str) -> str:
        """The text for a number of things."""
        one, many = self.counts[key]
        return replace_names(one if n == 1 else many, {**values, "n": str(n)})

    def rule(self, text: str) -> str:
        """A text that the rules make, in this language; in English if there is no translation."""
        return self.rules.get(text, text)

    def join(self, names: Iterable[str]) -> str:
        """Names as a list: "Ann, Ben and Cleo"."""
        *rest, last = [*names] or [""]
        return f"{self.language.list.join(rest)}{self.language.last}{last}" if rest else last


def replace_names(template: str, values: Mapping[str, str]) -> str:
    """The template with each name in braces replaced by its value. Names in values stay."""
    return NAME.sub(lambda match: values.get(match[1], match[0]), template)


def languages() -> list[str]:
    """The languages that have a catalogue, in alphabetical order."""
    names = (each.name for each in _FOLDER.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


@cache
def load_messages(tag: str = DEFAULT_LANGUAGE) -> Messages:
    """The catalogue of a language. A text that it does not have is English. Raises UnknownLanguage."""
    if tag not in languages():
        raise UnknownLanguage(f"must be one of the languages of the pages: {', '.join(languages())}")
    document: dict[str, Any] = tomllib.loads(_FOLDER.joinpath(tag + _SUFFIX).read_text("utf-8"))
    return parse_messages(tag, document)


def parse_messages(tag: str, document: Mapping[str, Any]) -> Messages:
    """The catalogue in a document. Raises msgspec.ValidationError for a document of another form."""
    if tag != DEFAULT_LANGUAGE:
        english = load_messages()
        counts: dict[str, Any] = {**english.counts, **document.get("counts", {})}
        document = {**document, "counts": counts, "texts": {**english.texts, **document.get("texts", {})}}
    return msgspec.convert({**document, "tag": tag}, Messages)
