"""How APIs lay things out on the wire, in both directions."""
