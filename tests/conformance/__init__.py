"""What DynamoDB answers, written down as tests that any server can be asked."""
