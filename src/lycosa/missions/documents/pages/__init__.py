"""Pages: what one HTML page says of people, organisations and the documents that it links to."""
