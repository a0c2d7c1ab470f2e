"""`schemagate conform`: the offline judge. Contracts and instances in, what would be enforced out, a JSON line each."""
