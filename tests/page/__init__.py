"""The page behind a link: what it shows, and what its form sends back."""
