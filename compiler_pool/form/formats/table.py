"""What is known of each format: a language, and whether it is the format itself, less than it, or more."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from compiler_pool.form.formats.calendar import date, date_time, duration, time
from compiler_pool.form.formats.ecma_regex import ecma_regex
from compiler_pool.form.formats.mailbox import email, wider_idn_email
from compiler_pool.form.formats.network import hostname, ipv4, ipv6, uuid, wider_idn_hostname
from compiler_pool.form.formats.pointers import json_pointer, relative_json_pointer
from compiler_pool.form.formats.resource import iri, iri_reference, uri, uri_reference, uri_template
from compiler_pool.form.languages import Language


class Fit(Enum):
    """How a language lies to the format that it stands for."""

    EXACT = auto()
    NARROWER = auto()
    """Some strings of the format are never generated; `docs/compiler-strings.md` says which."""
    WIDER = auto()
    """The format is not regular: the validator has the last word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatLanguage:
    """A format as a language."""

    language: Language
    fit: Fit


_FORMATS: Final[Mapping[str, tuple[Fit, Callable[[], Language]]]] = MappingProxyType(
    {
        "date": (Fit.EXACT, date),
        "date-time": (Fit.EXACT, date_time),
        "duration": (Fit.EXACT, duration),
        "email": (Fit.NARROWER, email),
        "hostname": (Fit.NARROWER, hostname),
        "idn-email": (Fit.WIDER, wider_idn_email),
        "idn-hostname": (Fit.WIDER, wider_idn_hostname),
        "ipv4": (Fit.EXACT, ipv4),
        "ipv6": (Fit.EXACT, ipv6),
        "iri": (Fit.EXACT, iri),
        "iri-reference": (Fit.EXACT, iri_reference),
        "json-pointer": (Fit.EXACT, json_pointer),
        "regex": (Fit.NARROWER, ecma_regex),
        "relative-json-pointer": (Fit.EXACT, relative_json_pointer),
        "time": (Fit.EXACT, time),
        "uri": (Fit.EXACT, uri),
        "uri-reference": (Fit.EXACT, uri_reference),
        "uri-template": (Fit.EXACT, uri_template),
        "uuid": (Fit.EXACT, uuid),
    }
)

FORMAT_FITS: Final[Mapping[str, Fit]] = MappingProxyType({name: fit for name, (fit, _) in _FORMATS.items()})


@lru_cache(maxsize=len(_FORMATS))
def format_language(name: str) -> FormatLanguage:
    """A format of the specification. `KeyError` for others: they assert nothing and are left out before."""
    fit, language = _FORMATS[name]
    return FormatLanguage(language=language(), fit=fit)
