"""The XML mission: it recognises the XML family, reads what its documents refer to, and opens archives."""
