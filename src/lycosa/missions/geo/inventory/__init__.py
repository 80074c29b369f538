"""The inventory: the services of a collection, each once, with the state of those that did not answer."""
