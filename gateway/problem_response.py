"""An error as the answer to a request, and as what its record tells of it."""

from dataclasses import replace

from starlette.responses import JSONResponse

from gateway.problem import Problem
from gateway.record import RequestRecord


def problem_response(problem: Problem, record: RequestRecord) -> JSONResponse:
    """The answer; the same bytes whenever it is made for the same request, as one is that is kept to be given again."""
    if problem.param == "messages":
        problem = replace(problem, param=record.prompt_param)
    return JSONResponse(problem.body(record.request_id), status_code=problem.status, headers=dict(problem.headers))
