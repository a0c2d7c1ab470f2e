"""All routes of the façade, in the order in which they are tried: what is more particular first."""

from fastapi import APIRouter

from gateway.confluent import compatibility, deletion, levels, metadata, modes, registration, schemas, subjects

_RESOURCES = (subjects, registration, deletion, schemas, levels, modes, compatibility, metadata)

ROUTERS: tuple[APIRouter, ...] = (*(resource.router for resource in _RESOURCES), metadata.fallback)
"""For the application, which includes them after its own routes."""
