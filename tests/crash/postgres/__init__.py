"""PostgreSQL as the store, under crashes of hosts, servers and connections."""
