"""Serving policies: what operators say of installation, tenant and family, read and put to use."""
