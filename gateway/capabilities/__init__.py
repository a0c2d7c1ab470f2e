"""What this deployment can do, said before anybody asks for it."""
