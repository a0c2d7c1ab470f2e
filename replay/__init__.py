"""The layer that canary replay will live in; it holds no code yet. It is here so that the import order is fixed."""
