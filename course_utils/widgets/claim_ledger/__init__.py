"""The widget ``claim_ledger``: its Python, JavaScript and style."""
