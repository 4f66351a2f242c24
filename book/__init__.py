"""The course as a website: what its pages are made of, and the programs that build and print it."""

import tools  # noqa: F401  (first: jsonschema would parse a grammar of addresses for a second)
