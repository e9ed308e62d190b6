"""How: each folder speaks one technology and imports no other adapter."""
