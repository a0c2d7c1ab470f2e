"""One file a resource; handlers translate between HTTP and the pipeline and decide nothing."""
