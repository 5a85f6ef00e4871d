"""The version of this program: what the package, the document and every answer say."""

VERSION = "0.1.0"
