"""What Alembic runs: the steps, on the connection and in the transaction that `upgrade` holds."""

from alembic import context

from registry.store.tables.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=True)
context.run_migrations()
