"""The edge over HTTP: discipline, routes, streams and the OpenAPI document."""
