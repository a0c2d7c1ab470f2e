"""A sequence outside its node: what is kept of it, as bytes that nobody else can make, and how it goes on."""
