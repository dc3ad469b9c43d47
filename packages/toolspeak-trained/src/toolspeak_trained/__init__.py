"""Large files of toolspeak. There is no code here: toolspeak finds and checks them."""
