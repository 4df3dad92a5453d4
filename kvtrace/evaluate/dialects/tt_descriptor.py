"""`tt`: tensor descriptors."""
