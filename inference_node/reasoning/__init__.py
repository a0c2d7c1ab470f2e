"""The thought before an answer: how models frame it, and where it ends."""
