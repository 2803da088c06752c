"""The spelling campaign: programs rewritten by what preprocessors and people do must still be read and written well."""
