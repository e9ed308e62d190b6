"""Assets: storing, serving and sweeping media."""
