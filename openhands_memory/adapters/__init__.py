"""The edges to the systems that use this package; nothing else imports them."""
