"""The scenarios of the public conformance suite, each as a test on a real host."""
