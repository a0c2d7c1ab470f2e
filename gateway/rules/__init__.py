"""Rules of operators over finished answers: CEL expressions and webhooks, for meaning and for authorisation."""
