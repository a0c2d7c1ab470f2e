"""What the commands about tenants and keys share: who does it, the database at hand or a gateway that is asked."""
