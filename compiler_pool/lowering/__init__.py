"""What lowering a contract can come to: the report, keyword by keyword, and refusals."""
