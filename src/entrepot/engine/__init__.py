"""An embedded DynamoDB on SQLite: durable, in process, and the same over HTTP."""
