"""Pages of the records mission in the browser: records, stories, health, readers, alerts, the outbox."""
