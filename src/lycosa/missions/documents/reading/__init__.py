"""Text: what a file prints, line by line, whatever its format."""
