"""Operations of the façade for Confluent's clients."""

from typing import Any, Final

from gateway.confluent.protocol import (
    CompatibilityAnswer,
    LevelAnswer,
    LevelUpdateAnswer,
    ModeAnswer,
    RegisteredAnswer,
    SchemaAnswer,
    SubjectVersionAnswer,
    VersionAnswer,
)
from gateway.openapi.operation import BODY, CONFLUENT, JSON, Answer, Operation, Part
from gateway.openapi.protocol import (
    ConfluentClusters,
    ConfluentLevelSent,
    ConfluentModeSent,
    ConfluentSchemaSent,
    ConfluentVersion,
)

_TAG: Final = "confluent"
_FAULTS: Final = frozenset({400, 401, 403, 404, 406, 422, 429, 500})
_LISTED: Final = ("deleted", "deletedOnly", "offset", "limit")
_VERSION: Final = "/subjects/{subject}/versions/{version}"


def _operation(
    shape: Any, *, body: type | None = None, query: tuple[str, ...] = (), changes: bool = False
) -> Operation:
    return Operation(
        tag=_TAG,
        answers={200: Answer(shape=shape, media_types=(CONFLUENT, JSON))},
        faults=_FAULTS | (frozenset() if body is None else BODY) | (frozenset({409}) if changes else frozenset()),
        query=query,
        body=body,
        fault_shape="ConfluentError",
    )


CONFLUENT_PART: Final = Part(
    tag=_TAG,
    description="The registry as Confluent's clients know one. A subject is a contract of one's own tenant.",
    operations={
        ("GET", "/"): _operation(dict),
        ("GET", "/contexts"): _operation(list[str]),
        ("GET", "/v1/metadata/id"): _operation(ConfluentClusters),
        ("GET", "/v1/metadata/version"): _operation(ConfluentVersion),
        ("GET", "/subjects"): _operation(list[str], query=("subjectPrefix", *_LISTED)),
        ("POST", "/subjects/{subject}"): _operation(
            VersionAnswer,
            body=ConfluentSchemaSent,
            query=("normalize", "deleted", "deletedOnly", "format"),
            changes=True,
        ),
        ("DELETE", "/subjects/{subject}"): _operation(list[int], query=("permanent",), changes=True),
        ("GET", "/subjects/{subject}/versions"): _operation(list[int], query=_LISTED),
        ("POST", "/subjects/{subject}/versions"): _operation(
            RegisteredAnswer, body=ConfluentSchemaSent, query=("normalize",), changes=True
        ),
        ("GET", _VERSION): _operation(VersionAnswer, query=("deleted", "deletedOnly", "format")),
        ("DELETE", _VERSION): _operation(int, query=("permanent",), changes=True),
        ("GET", _VERSION + "/schema"): _operation(Any, query=("deleted", "deletedOnly", "format")),
        ("GET", _VERSION + "/referencedby"): _operation(list[int], query=("offset", "limit")),
        ("GET", "/schemas"): _operation(list[VersionAnswer], query=("subjectPrefix", "latestOnly", "format", *_LISTED)),
        ("GET", "/schemas/types"): _operation(list[str]),
        ("GET", "/schemas/ids/{schema_id}"): _operation(SchemaAnswer, query=("subject", "format")),
        ("GET", "/schemas/ids/{schema_id}/schema"): _operation(Any, query=("subject", "format")),
        ("GET", "/schemas/ids/{schema_id}/subjects"): _operation(list[str], query=("subject", *_LISTED)),
        ("GET", "/schemas/ids/{schema_id}/versions"): _operation(
            list[SubjectVersionAnswer], query=("subject", *_LISTED)
        ),
        ("GET", "/schemas/guids/{guid}"): _operation(SchemaAnswer, query=("format",)),
        ("POST", "/compatibility/subjects/{subject}/versions"): _operation(
            CompatibilityAnswer, body=ConfluentSchemaSent, query=("verbose",), changes=True
        ),
        ("POST", "/compatibility/subjects/{subject}/versions/{version}"): _operation(
            CompatibilityAnswer, body=ConfluentSchemaSent, query=("verbose",), changes=True
        ),
        ("GET", "/config"): _operation(LevelAnswer),
        ("PUT", "/config"): _operation(LevelUpdateAnswer, body=ConfluentLevelSent, changes=True),
        ("DELETE", "/config"): _operation(LevelAnswer, changes=True),
        ("GET", "/config/{subject}"): _operation(LevelAnswer, query=("defaultToGlobal",)),
        ("PUT", "/config/{subject}"): _operation(LevelUpdateAnswer, body=ConfluentLevelSent, changes=True),
        ("DELETE", "/config/{subject}"): _operation(LevelAnswer, changes=True),
        ("GET", "/mode"): _operation(ModeAnswer),
        ("PUT", "/mode"): _operation(ModeAnswer, body=ConfluentModeSent),
        ("GET", "/mode/{subject}"): _operation(ModeAnswer, query=("defaultToGlobal",)),
        ("PUT", "/mode/{subject}"): _operation(ModeAnswer, body=ConfluentModeSent),
        ("DELETE", "/mode/{subject}"): _operation(ModeAnswer),
    },
)
