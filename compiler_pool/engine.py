"""Which grammar engine artifacts are made for. A test holds this to what is installed."""

ENGINE = "llguidance"
ENGINE_VERSION = "1.9.1"
"""Pinned: what the lowering relies on was measured on this version, and artifacts name it."""
