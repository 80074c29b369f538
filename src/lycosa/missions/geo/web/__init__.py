"""Pages of the geo mission in the browser: the map, services, layers, liveness."""
