"""The public API: authentication, budgets, the request pipeline, completion classes, final validation."""
