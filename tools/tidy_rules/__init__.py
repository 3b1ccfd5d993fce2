"""The rules that tools/tidy.py applies: one module a subject, each a function from a tree to its offences."""
