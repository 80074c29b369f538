"""What a page says: its kind, its main text, who wrote it and when, and the data by which it describes itself."""
