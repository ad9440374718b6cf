"""Files of the operator and of Tidegate: whom to trust with them, and how to keep them."""
