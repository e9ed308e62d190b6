"""The store on PostgreSQL, with fences and an elected executor."""
