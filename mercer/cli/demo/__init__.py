"""The demo: a comparison on digits, its report and its pictures."""
