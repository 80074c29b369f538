"""Pages of the XML mission in the browser: the report, documents, schemas, groups."""
