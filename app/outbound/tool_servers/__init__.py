"""The servers of tools: one file a kind, and what their answers become. A call never raises; whatever goes wrong is an error result."""
