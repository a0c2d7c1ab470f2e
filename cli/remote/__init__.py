"""What commands share that ask a gateway: the connection, its answers, files, exits and printing."""
