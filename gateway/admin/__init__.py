"""`/v1/admin`: what operators do with tenants, teams and keys."""
