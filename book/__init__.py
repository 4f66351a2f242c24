"""The course as a website: what its pages are made of, and the programs that build and print it."""
