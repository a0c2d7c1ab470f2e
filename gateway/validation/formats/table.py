"""Which formats are asserted, and by what. A format that is not here is an annotation."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gateway.validation.formats.calendar import is_date, is_date_time, is_duration, is_time
from gateway.validation.formats.ecma_regex import is_ecma_regex
from gateway.validation.formats.mailbox import is_email, is_idn_email
from gateway.validation.formats.network import is_hostname, is_idn_hostname, is_ipv4, is_ipv6, is_uuid
from gateway.validation.formats.pointers import is_json_pointer, is_relative_json_pointer
from gateway.validation.formats.resource import is_iri, is_iri_reference, is_uri, is_uri_reference, is_uri_template

FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "date": is_date,
        "date-time": is_date_time,
        "duration": is_duration,
        "email": is_email,
        "hostname": is_hostname,
        "idn-email": is_idn_email,
        "idn-hostname": is_idn_hostname,
        "ipv4": is_ipv4,
        "ipv6": is_ipv6,
        "iri": is_iri,
        "iri-reference": is_iri_reference,
        "json-pointer": is_json_pointer,
        "regex": is_ecma_regex,
        "relative-json-pointer": is_relative_json_pointer,
        "time": is_time,
        "uri": is_uri,
        "uri-reference": is_uri_reference,
        "uri-template": is_uri_template,
        "uuid": is_uuid,
    }
)
"""Every format of JSON Schema 2020-12 (validation vocabulary, section 7.3). They apply to strings only."""
