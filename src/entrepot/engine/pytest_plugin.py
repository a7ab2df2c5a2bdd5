"""The pytest plugin: gives each test a store of its own."""
