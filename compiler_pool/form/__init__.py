"""The typed intermediate form of a contract's texts: what every engine takes, and free of any of them."""
