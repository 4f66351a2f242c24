"""From a chapter's source to its two notebooks."""
