"""Pages and forms for people who answer by link."""
