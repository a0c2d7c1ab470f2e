"""The Responses API: requests read into intents, answers written as items and events."""
