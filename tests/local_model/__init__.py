"""A host with a real model, on a model server of this machine."""
