"""Load generators and readers."""
