"""From a canonical contract to an artifact a node can run, in processes that may be killed."""
