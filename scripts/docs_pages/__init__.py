"""The reference pages that scripts/generate-docs writes: one function per page."""
