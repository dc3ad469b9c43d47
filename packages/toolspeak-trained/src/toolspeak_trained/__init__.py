"""Files that were trained for toolspeak. There is no code here: toolspeak finds and checks them."""
