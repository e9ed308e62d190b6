"""A host that calls a model server over real connections."""
