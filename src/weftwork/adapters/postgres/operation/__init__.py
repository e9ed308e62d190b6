"""Operation of a store on PostgreSQL: facts for the operator, and copies of other stores."""
