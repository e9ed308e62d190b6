"""What single features cost."""
