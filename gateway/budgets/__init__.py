"""What tenants, teams and keys may spend: reserved before work, settled after it, in this process or in Redis."""
