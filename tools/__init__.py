"""Tools that build and check the course. Nothing here is needed to take it."""

import sys

# jsonschema would parse a grammar of addresses for a second; notebooks have no use for it.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
