"""The loopback platforms, read by client libraries of other authors than those that Tidegate uses."""
