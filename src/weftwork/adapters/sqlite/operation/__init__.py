"""Operation of a store in a file: salvage of a damaged file, and copies to other stores."""
