"""The registry in SQL: SQLite or PostgreSQL. Nothing above it sees a session, a row or a driver's exception."""
