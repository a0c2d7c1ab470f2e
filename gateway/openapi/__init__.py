"""The API's own description, as OpenAPI: made from the wire types that requests and answers go through."""
