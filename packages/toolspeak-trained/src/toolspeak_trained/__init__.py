"""Files that were trained for toolspeak. There is no code here: `toolspeak.models.adapters` finds and checks them."""
