"""`/mode`: always READWRITE. Who may write is decided by roles on keys, not by a switch for all."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import admit, answer, confluent_router
from gateway.confluent.errors import SHOWN_CHARACTERS, ConfluentError, Fault
from gateway.confluent.parameters import read_flag
from gateway.confluent.protocol import ModeAnswer
from gateway.confluent.requests import READWRITE, read_mode_request
from gateway.confluent.views import plain_subject

router = confluent_router()


@router.get("/mode")
async def get_mode(request: Request) -> Response:
    """The one mode that there is."""
    return answer(await admit(request, "mode"), ModeAnswer(mode=READWRITE))


@router.put("/mode")
@router.put("/mode/{subject}")
async def set_mode(request: Request) -> Response:
    """Take READWRITE, which changes nothing, and refuse every other."""
    call = await admit(request, "mode")
    read_mode_request(await call.body())
    return answer(call, ModeAnswer(mode=READWRITE))


@router.get("/mode/{subject}")
async def get_subject_mode(request: Request, subject: str) -> Response:
    """No subject has a mode of its own."""
    call = await admit(request, "mode")
    if read_flag(request.query_params, "defaultToGlobal"):
        return answer(call, ModeAnswer(mode=READWRITE))
    raise _not_configured(subject)


@router.delete("/mode/{subject}")
async def clear_subject_mode(request: Request, subject: str) -> Response:
    """There is none to clear."""
    await admit(request, "mode")
    raise _not_configured(subject)


def _not_configured(subject: str) -> ConfluentError:
    shown = plain_subject(subject)[:SHOWN_CHARACTERS]
    return ConfluentError(Fault.MODE_NOT_CONFIGURED, f"Subject '{shown}' does not have subject-level mode configured")
